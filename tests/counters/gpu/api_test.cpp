#include "counters/gpu/api.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <set>

#include "counters/gpu/counter.h"
#include "counters/gpu/session.h"

namespace dlroof::gpu {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

CudaFailure Cupti(int code, const std::string& name = "CUPTI_ERROR_X") {
  return {CudaLibrary::kCupti, code, "cuptiX", name, "its words", ""};
}

TEST(FailureSentence, SaysTheMatterTheCodeAndTheCure) {
  EXPECT_EQ(
      FailureSentence(Cupti(26, "CUPTI_ERROR_HARDWARE_BUSY")),
      "another profiler or monitor (DCGM) is using the counters (CUPTI_ERROR_HARDWARE_BUSY from "
      "cuptiX): end the other profiler, or pause DCGM with dcgmi profile --pause (and --resume "
      "afterwards)");
  EXPECT_THAT(FailureSentence(Cupti(35)),
              testing::AllOf(HasSubstr("to administrators"), HasSubstr("--cap-add=SYS_ADMIN"),
                             HasSubstr("NVreg_RestrictProfilingToAdminUsers=0")));
  EXPECT_THAT(FailureSentence(Cupti(40)), HasSubstr("hypervisor"));
  EXPECT_THAT(FailureSentence(Cupti(41)), HasSubstr("confidential"));
  EXPECT_THAT(FailureSentence(Cupti(43)), HasSubstr("MIG"));
  EXPECT_THAT(FailureSentence(Cupti(45)), HasSubstr("Windows subsystem"));
  EXPECT_THAT(FailureSentence(Cupti(8)), HasSubstr("enough memory"));
  EXPECT_THAT(FailureSentence(Cupti(15)), HasSubstr("libnvperf_host"));
}

TEST(FailureSentence, NamesTheToolThatHoldsCupti) {
  auto failure = Cupti(39);
  failure.tool = "CUPTI for Nsight";
  EXPECT_THAT(FailureSentence(failure),
              HasSubstr("another tool is attached to this process, named 'CUPTI for "
                        "Nsight'"));
}

TEST(FailureSentence, NoDriverAndOneThatIsTooOldAreDifferentThings) {
  CudaFailure failure{CudaLibrary::kRuntime,         35, "cudaGetDeviceCount",
                      "cudaErrorInsufficientDriver", "", ""};
  EXPECT_THAT(FailureSentence(failure), HasSubstr("there is no NVIDIA driver"));
  failure.driver_version = 12020;
  failure.runtime_version = 13000;
  EXPECT_THAT(FailureSentence(failure),
              HasSubstr("the driver supports CUDA 12.2 and this program needs CUDA 13.0"));
}

TEST(FailureSentence, AnUnknownCodeComesWithTheLibrarysWords) {
  EXPECT_EQ(FailureSentence(Cupti(777)), "CUPTI refused cuptiX: CUPTI_ERROR_X (777), its words");
  auto silent = Cupti(777);
  silent.library = CudaLibrary::kDriver;
  silent.words.clear();
  EXPECT_EQ(FailureSentence(silent),
            "the CUDA driver refused cuptiX: CUPTI_ERROR_X (777), without an explanation");
}

TEST(FailureSentence, IsOneLineForEveryCode) {
  for (const auto library : {CudaLibrary::kCupti, CudaLibrary::kRuntime, CudaLibrary::kDriver})
    for (int code = 0; code < 1000; ++code) {
      auto failure = Cupti(code);
      failure.library = library;
      const auto said = FailureSentence(failure);
      EXPECT_EQ(said.find('\n'), std::string::npos);
      EXPECT_THAT(said, HasSubstr("cuptiX"));
    }
}

KnownCall Known(double flops, double dram) {
  KnownCall known{"known", {"fp32.vector"}, {}, {}};
  known.work.flops["fp32.vector"] = flops;
  known.work.bytes[Level::kDram] = dram;
  known.work.launches = 1;
  return known;
}
Work Counted(double flops, double dram) { return Known(flops, dram).work; }

CounterGrade GradeOf(const std::string& quantity, const Work& counted) {
  JudgedCounters judged;
  JudgeCounters(Known(1000, 1000), counted, judged);
  return judged[quantity].grade;
}

TEST(JudgeCounters, FlopsWithinOnePercentDramWithinFive) {
  EXPECT_EQ(GradeOf("fp32.vector", Counted(1009, 1000)), CounterGrade::kValidated);
  EXPECT_EQ(GradeOf("fp32.vector", Counted(1011, 1000)), CounterGrade::kFailed);
  EXPECT_EQ(GradeOf("fp32.vector", Counted(989, 1000)), CounterGrade::kFailed);
  EXPECT_EQ(GradeOf("dram", Counted(1000, 1049)), CounterGrade::kValidated);
  EXPECT_EQ(GradeOf("dram", Counted(1000, 940)), CounterGrade::kFailed);
}

TEST(JudgeCounters, WhatIsNotCountedProvesNothingAndWhatFailedOnceStaysFailed) {
  JudgedCounters judged;
  JudgeCounters(Known(1000, 1000), Work{}, judged);
  EXPECT_THAT(judged, testing::IsEmpty());
  JudgeCounters(Known(1000, 1000), Counted(2000, 1000), judged);
  JudgeCounters(Known(1000, 1000), Counted(1000, 1000), judged);
  EXPECT_EQ(judged["fp32.vector"].grade, CounterGrade::kFailed);
  EXPECT_EQ(judged["fp32.vector"].evidence, "known: counted 2 of its work");
  EXPECT_EQ(judged["launches"].grade, CounterGrade::kValidated);
  JudgeCounters(Known(1000, 1000), Counted(1000, 5000), judged);
  EXPECT_EQ(judged["dram"].grade, CounterGrade::kFailed) << "validated before, refuted now";
}

// Checks by brute force that the 8 loads of a thread in flight have different addresses and that
// the whole set is loaded.
TEST(WalkL2, AThreadsLoadsInFlightAreOfDifferentPlaces) {
  constexpr std::size_t kBlockBytes = 4096;
  for (const std::size_t mebibytes : {std::size_t{4}, std::size_t{40}, std::size_t{50}}) {
    const auto [blocks, bytes] = WalkL2(mebibytes << 20, kBlockBytes);
    EXPECT_LE(bytes, (mebibytes << 20) / 8);
    EXPECT_GE(bytes, (mebibytes << 20) / 10);
    const std::size_t step = blocks * kBlockBytes;
    std::set<std::size_t> places;
    std::deque<std::size_t> in_flight;
    for (std::size_t k = 0, at = 0; k < 256; ++k, at = (at + step) % bytes) {
      EXPECT_EQ(std::ranges::count(in_flight, at), 0) << mebibytes;
      in_flight.push_back(at);
      if (in_flight.size() == 8) in_flight.pop_front();
      places.insert(at);
    }
    EXPECT_EQ(places.size() * step, bytes);
  }
}

TEST(NcuMetrics, AreThoseOfTheChipThatMakeTimeFlopsAndBytes) {
  const auto& table = BuiltInCuptiTable();
  for (const auto& chip : table.chips) {
    const auto metrics = NcuMetrics(table, chip);
    EXPECT_EQ(std::set<std::string>(metrics.begin(), metrics.end()).size(), metrics.size());
    EXPECT_THAT(metrics, Contains("gpu__time_duration.sum")) << chip.name;
    for (const auto& metric : metrics)
      EXPECT_THAT(metric, Not(testing::AnyOf(HasSubstr("pcie"), HasSubstr("peak_sustained"))));
  }
  EXPECT_THAT(NcuMetrics(table, *FindChip(table, "GH100")),
              Contains("sm__ops_path_tensor_src_fp8.sum"));
  EXPECT_THAT(NcuMetrics(table, *FindChip(table, "TU116")), Not(Contains(HasSubstr("tensor"))));
}

// The program's arguments come last, and ncu changes neither caches nor clocks.
TEST(NcuCommand, LeavesCachesAndClocksToTheProgram) {
  NcuChoice choice{"ncu", "gemm.*", 3, 7, "out.csv"};
  EXPECT_EQ(
      fmt::format("{}", fmt::join(NcuCommand(choice, {"a.sum", "b.sum"}, {"./app", "--csv"}), " ")),
      "ncu --csv --page raw --print-units base --target-processes all --cache-control none "
      "--clock-control none --rename-kernels off --metrics a.sum,b.sum --log-file out.csv "
      "--kernel-name regex:gemm.* --launch-skip 3 --launch-count 7 ./app --csv");
  choice = {};
  choice.whole_names = false;
  EXPECT_EQ(NcuCommand(choice, {"a.sum"}, {"./app"}).size(), 17U);
  choice.only_program = true;
  EXPECT_THAT(NcuCommand(choice, {"a.sum"}, {"./app"}), Contains("application-only"));
}

// Only an error about the option itself: the program must not run twice.
TEST(RefusesWholeNames, IsAnErrorThatNamesTheOption) {
  EXPECT_TRUE(RefusesWholeNames("==ERROR== unrecognised option '--rename-kernels'\n"));
  EXPECT_TRUE(
      RefusesWholeNames("==ERROR== the argument for option '--rename-kernels' is invalid."));
  EXPECT_FALSE(RefusesWholeNames("==ERROR== No kernels were profiled.\n"));
  EXPECT_FALSE(RefusesWholeNames("app: my --rename-kernels is off\n"));
}

TEST(NcuFailureSentence, EachRefusalIsASentenceWithItsCure) {
  const std::pair<const char*, const char*> cases[] = {
      {"==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
       "Performance Counters on the target device 0.",
       "run as root or with CAP_SYS_ADMIN"},
      {"==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other "
       "tool (like DCGM) is concurrently collecting profiling data.",
       "dcgmi profile --pause"},
      {"==ERROR== Unknown Error on device 0. LibraryNotLoaded", "a sandbox (gVisor)"},
      {"==ERROR== Failed to find metric sm__ops_path_tensor_src_fp8.sum", "give the GPU's chip"},
      {"==ERROR== Cuda driver is not compatible with Nsight Compute", "update the driver"},
      {"==ERROR== Profiling is not supported on this device", "compute capability 7.5"},
      {"==ERROR== Profiling is not supported for this device. MIG", "compute capability 7.5"},
      {"==ERROR== Metric cannot be collected on a MIG instance", "a GPU without MIG"},
      {"==ERROR== Failed to save memory for replay: out of memory", "profile a smaller problem"},
      {"==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock", "set TMPDIR"},
      {"==WARNING== No kernels were profiled.", "ncu profiled no kernel"},
      {"app\n==ERROR== It rained.\nmore", "ncu failed: It rained."},
      {"", "ncu ended with exit code 9"}};
  for (const auto& [said, expected] : cases) {
    const auto sentence = NcuFailureSentence(said, 9);
    EXPECT_THAT(sentence, HasSubstr(expected)) << said;
    EXPECT_EQ(sentence.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace dlroof::gpu
