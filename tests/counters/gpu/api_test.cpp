#include "counters/gpu/api.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <set>

#include "ceilings/gpu_ceilings/bench.h"
#include "counters/base/work.h"
#include "counters/gpu/clock.h"
#include "counters/gpu/counter.h"
#include "counters/gpu/session.h"
#include "tests/fakes/refusal.h"
#include "tests/paths.h"

namespace dlroof::gpu {
namespace {

using testing::Contains, testing::ElementsAre, testing::HasSubstr, testing::IsEmpty, testing::Not,
    testing::AnyOf, testing::IsSupersetOf, testing::Matches;

CudaFailure Cupti(int code, const std::string& name = "CUPTI_ERROR_X") {
  return {CudaLibrary::kCupti, code, "cuptiX", name, "its words"};
}

TEST(FailureSentence, SaysTheMatterTheCodeAndTheCure) {
  EXPECT_EQ(
      FailureSentence(Cupti(26, "CUPTI_ERROR_HARDWARE_BUSY")),
      "another profiler or monitor (DCGM) is using the counters (CUPTI_ERROR_HARDWARE_BUSY from "
      "cuptiX): end the other profiler, or pause DCGM with dcgmi profile --pause (and --resume "
      "afterwards)");
  CudaFailure driver{CudaLibrary::kRuntime, 35, "cudaGetDeviceCount", "cudaErrorInsufficientDriver",
                     ""};
  driver.driver_version = 12020;
  driver.runtime_version = 13000;
  EXPECT_THAT(FailureSentence(driver),
              HasSubstr("the driver supports CUDA 12.2 and this program needs CUDA 13.0"));
}

TEST(FailureSentence, AnUnknownCodeComesWithTheLibrarysWordsAndIsOneLineForEveryCode) {
  EXPECT_EQ(FailureSentence(Cupti(777)), "CUPTI refused cuptiX: CUPTI_ERROR_X (777), its words");
  auto silent = Cupti(777);
  silent.library = CudaLibrary::kDriver;
  silent.words.clear();
  EXPECT_EQ(FailureSentence(silent),
            "the CUDA driver refused cuptiX: CUPTI_ERROR_X (777), without an explanation");
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
Work CountedWork(double flops, double dram) { return Known(flops, dram).work; }

CounterGrade GradeOf(const std::string& quantity, const Work& counted) {
  JudgedCounters judged;
  JudgeCounters(Known(1000, 1000), counted, judged);
  return judged[quantity].grade;
}

TEST(JudgeCounters, FlopsWithinOnePercentDramWithinFiveAndWhatFailedOnceStaysFailed) {
  EXPECT_EQ(GradeOf("fp32.vector", CountedWork(1009, 1000)), CounterGrade::kValidated);
  EXPECT_EQ(GradeOf("fp32.vector", CountedWork(1011, 1000)), CounterGrade::kFailed);
  EXPECT_EQ(GradeOf("fp32.vector", CountedWork(989, 1000)), CounterGrade::kFailed);
  EXPECT_EQ(GradeOf("dram", CountedWork(1000, 1049)), CounterGrade::kValidated);
  EXPECT_EQ(GradeOf("dram", CountedWork(1000, 940)), CounterGrade::kFailed);
  JudgedCounters judged;
  JudgeCounters(Known(1000, 1000), Work{}, judged);
  EXPECT_THAT(judged, IsEmpty());
  JudgeCounters(Known(1000, 1000), CountedWork(2000, 1000), judged);
  JudgeCounters(Known(1000, 1000), CountedWork(1000, 1000), judged);
  EXPECT_EQ(judged["fp32.vector"].grade, CounterGrade::kFailed);
  EXPECT_EQ(judged["fp32.vector"].evidence, "known: counted 2 of its work");
  EXPECT_EQ(judged["launches"].grade, CounterGrade::kValidated);
  JudgeCounters(Known(1000, 1000), CountedWork(1000, 5000), judged);
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
      EXPECT_THAT(metric, Not(AnyOf(HasSubstr("pcie"), HasSubstr("peak_sustained"))));
  }
  EXPECT_THAT(NcuMetrics(table, *FindChip(table, "GH100")),
              Contains("sm__ops_path_tensor_src_fp8.sum"));
  EXPECT_THAT(NcuMetrics(table, *FindChip(table, "TU116")), Not(Contains(HasSubstr("tensor"))));
}

TEST(NcuFailureSentence, EachRefusalIsASentenceWithItsCure) {
  const std::pair<const char*, const char*> cases[] = {
      {"==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other "
       "tool (like DCGM) is concurrently collecting profiling data.",
       "dcgmi profile --pause"},
      {"==ERROR== Unknown Error on device 0. LibraryNotLoaded", "a sandbox (gVisor)"},
      {"==ERROR== Failed to find metric sm__ops_path_tensor_src_fp8.sum", "give the GPU's chip"},
      {"==ERROR== Cuda driver is not compatible with Nsight Compute", "update the driver"},
      {"==ERROR== Profiling is not supported on this device", "compute capability 7.5"},
      {"==ERROR== Profiling is not supported for this device. MIG", "compute capability 7.5"},
      {"app\n==ERROR== It rained.\nmore", "ncu failed: It rained."},
      {"", "ncu ended with exit code 9"}};
  for (const auto& [said, expected] : cases) {
    const auto sentence = NcuFailureSentence(said, 9);
    EXPECT_THAT(sentence, HasSubstr(expected)) << said;
    EXPECT_EQ(sentence.find('\n'), std::string::npos);
  }
}

TEST(NoDeviceReason, TellsAMissingDriverFromAnOldOneAndEachCauseHasItsCure) {
  CudaState state{.error = 35, .runtime_version = 13000};
  EXPECT_THAT(NoDeviceReason(state).value().text, HasSubstr("no NVIDIA driver is loaded"));
  state.driver_version = 12040;
  fakes::ExpectHas(NoDeviceReason(state).value().text,
                   {"supports CUDA 12.4 and this build needs CUDA 13.0", "580 or newer"});
  state.runtime_version = 12080;
  EXPECT_THAT(NoDeviceReason(state).value().text, HasSubstr("525 or newer"));
  CudaState old{.driver_version = 13000, .runtime_version = 13000, .gpus = {{"V100", 7, 0}}};
  EXPECT_THAT(NoDeviceReason(old).value().text, HasSubstr("V100 has compute capability 7.0"));
  old.gpus.push_back({"T4", 7, 5});
  EXPECT_EQ(NoDeviceReason(old), std::nullopt);
  EXPECT_FALSE(IsUsable(old.gpus[0], old));
  EXPECT_TRUE(IsUsable(old.gpus[1], old));
  EXPECT_TRUE(IsUsable({"H200", 9, 0}, old));
  const std::pair<int, const char*> cures[] = {{34, "stub"},
                                               {100, "CUDA_VISIBLE_DEVICES"},
                                               {46, "exclusive mode"},
                                               {802, "fabricmanager"},
                                               {803, "reboot"},
                                               {804, "compatibility libraries"},
                                               {999, "cudaErrorX): see the kernel's log"}};
  for (const auto& [error, cure] : cures)
    EXPECT_THAT(NoDeviceReason({.error = error, .error_name = "cudaErrorX"}).value().text,
                HasSubstr(cure));
  EXPECT_EQ(NoDeviceReason({}), NoDeviceReason({.error = 100}));  // no error, and no device either
}

GpuIdentity H200() {
  return {.name = "NVIDIA H200",
          .major = 9,
          .sms = 132,
          .memory_bytes = 150.1e9,
          .l2_bytes = 62914560,
          .shared_bytes_per_sm = 233472,
          .memory_bus_bits = 6144,
          .ecc = true};
}

TEST(DescribeGpu, TheFingerprintIsOfTheGpuNotOfWhatItsDriverKeepsForItself) {
  const auto machine = gpu_ceilings::DescribeGpu(H200());
  EXPECT_EQ(machine.device, "gpu");
  EXPECT_EQ(machine.facts.at("gpu.memory"), "140 GiB");  // 150.1e9 / 2^30 = 139.8
  EXPECT_EQ(machine.cache_bytes.at(Level::kL2), 62914560);
  auto less = H200();
  less.memory_bytes -= 100e6;
  EXPECT_EQ(gpu_ceilings::DescribeGpu(less).fingerprint, machine.fingerprint);
  auto other = H200();
  other.sms = 114;
  EXPECT_NE(gpu_ceilings::DescribeGpu(other).fingerprint, machine.fingerprint);
  auto without_ecc = H200();
  without_ecc.ecc = false;
  EXPECT_NE(gpu_ceilings::DescribeGpu(without_ecc).fingerprint, machine.fingerprint);
}

Nvml FakeNvml(const char* pci_bus_id) {
  return Nvml::Open(DLROOF_FAKE_MODULES "/libnvml_fake.so", pci_bus_id);
}

TEST(Nvml, ReadsWhatTheDriverTellsAndLeavesOutWhatItDoesNot) {
  const auto nvml = FakeNvml("0000:01:00.0"), without_power = FakeNvml("0000:03:00.0");
  const auto health = nvml.Health();
  EXPECT_EQ(std::tuple(health.sm_clock_hz, health.memory_clock_hz, health.temperature_celsius),
            std::tuple(1980e6, 3201e6, 41));
  EXPECT_EQ(health.power_watts, 651.234);  // at the moment, not the mean of 300 W
  EXPECT_FALSE(without_power.Health().power_watts);
  EXPECT_EQ(health.throttle, 0x44U);
  EXPECT_EQ(nvml.DriverVersion(), "580.65.06");
  EXPECT_EQ(nvml.EnergyJoules(), 8123456.789);
  EXPECT_FALSE(without_power.EnergyJoules());
  const auto none = Nvml::Open("libdlroof_no_such_library.so", "0000:01:00.0");
  EXPECT_EQ(none.Health(), GpuHealth{});
  EXPECT_EQ(FakeNvml("0000:02:00.0").Health(), GpuHealth{});
  EXPECT_EQ(none.DriverVersion(), std::nullopt);
  EXPECT_FALSE(none.EnergyJoules());
}

// In 400 us 1.0, 1.2 and 1.4 GHz; the fourth SM got no block the second time,
// the fifth none the first.
TEST(MeanClockHz, IsOfAllSmsThatHaveBothStampsUnlessTheTimerIsTooCoarse) {
  const std::vector<SmStamp> stamps = {
      {1000, 7},        {1000, 8},        {2000, 9},        {1000, 7}, {0, 0},
      {401000, 400007}, {401000, 480008}, {402000, 560009}, {0, 0},    {401000, 9000000}};
  EXPECT_DOUBLE_EQ(MeanClockHz(stamps).value(), 1.2e9);
  EXPECT_FALSE(MeanClockHz({{1000, 0}, {200999, 200000}}));
  EXPECT_TRUE(MeanClockHz({{1000, 0}, {201000, 200000}}));
  EXPECT_FALSE(MeanClockHz({{1000, 5}, {401000, 5}}));
  EXPECT_FALSE(MeanClockHz({}));
}

// Two chips; a pass can read two metrics.
nlohmann::json SmallTable() {
  return nlohmann::json::parse(R"({
    "chips": [{"family": "A", "compute_capability": 90, "names": "A1 A2"},
              {"family": "B", "compute_capability": 75, "names": "B1"}],
    "types": [{"name": "f32", "tensor": "tf32", "check": true},
              {"name": "bf16", "tensor": "bf16"}],
    "sets": [{"name": "dram", "counts": "bytes"},
             {"name": "tensor.tf32", "counts": "t", "type": "tf32"},
             {"name": "tensor.bf16", "counts": "b", "type": "bf16"},
             {"name": "sass", "counts": "flops", "patches": true},
             {"name": "ways", "counts": "w", "free": true},
             {"name": "used", "counts": "u", "free": true},
             {"name": "link", "counts": "p", "alone": true}],
    "metrics": [
      {"set": "dram", "quantity": "dram", "weight": 1, "metric": "d.sum", "chips": "all"},
      {"set": "tensor.tf32", "quantity": "tf32.matrix", "weight": 1, "metric": "t.sum", "chips": "A"},
      {"set": "tensor.bf16", "quantity": "bf16.matrix", "weight": 1, "metric": "b.sum", "chips": "A"},
      {"set": "sass", "quantity": "fp32.vector", "weight": 1, "metric": "a.sum", "chips": "all"},
      {"set": "sass", "quantity": "fp32.vector", "weight": 2, "metric": "f.sum", "chips": "all"},
      {"set": "ways", "quantity": "dram.read", "weight": 1, "metric": "r.sum", "chips": "all"},
      {"set": "used", "quantity": "x", "weight": 1, "metric": "u.sum", "chips": "all"},
      {"set": "link", "quantity": "link", "weight": 1, "metric": "p.sum", "chips": "all"}]})");
}

std::optional<int> TwoPerPass(const std::vector<std::string>& metrics) {
  return (static_cast<int>(metrics.size()) + 1) / 2;
}

CuptiPlan Plan(const std::string& chip, const std::vector<std::string>& types,
               const CounterOptions& options = {}, const PassesOf& passes = TwoPerPass) {
  const auto table = CuptiTableFromJson(SmallTable(), "small");
  return PlanCounters(table, *FindChip(table, chip), types, options, passes);
}

std::string LeftOut(const CuptiPlan& plan) {
  std::string text;
  for (const auto& set : plan.left_out) text += set.set + ": " + set.reason + "; ";
  return text;
}

// d b | a f: two passes with four metrics; a fifth would take a third.
TEST(PlanCounters, FreeSetsAreThereOnlyWhereTheyCostNoPassAndWhatIsLeftOutHasItsReason) {
  const auto plan = Plan("A1", {"bf16"});
  ASSERT_EQ(plan.configs.size(), 1U);
  EXPECT_THAT(plan.configs[0].metrics, ElementsAre("d.sum", "b.sum", "a.sum", "f.sum"));
  EXPECT_EQ(plan.passes, 2);
  EXPECT_EQ(LeftOut(plan), "");
  // d | a f leaves a place for one of the two.
  EXPECT_THAT(Plan("A1", {}).configs[0].metrics, ElementsAre("d.sum", "a.sum", "f.sum", "r.sum"));
  const auto one_pass = Plan("A1", {"bf16", "tf32"}, {.most_passes = 1});
  EXPECT_THAT(one_pass.configs[0].metrics, ElementsAre("d.sum", "b.sum")) << "the best type first";
  EXPECT_EQ(LeftOut(one_pass), "tensor.tf32: would take a 2nd pass; sass: would take a 2nd pass; ");
  const auto unpatched = Plan("A1", {"bf16"}, {.patched = false});
  EXPECT_THAT(LeftOut(unpatched), HasSubstr("sass: its patched kernels might wait"));
  for (const auto& metric : unpatched.metrics) EXPECT_NE(metric.set, "sass");
  EXPECT_EQ(LeftOut(Plan("B1", {"bf16"})), "tensor.bf16: B1 has no counter for it; ");
}

TEST(PlanCounters,
     EverythingIsInRunsOfItsOwnARefusedCounterCostsNoOtherAndPipesThatAreNotReadAreNamed) {
  const auto plan = Plan("A2", {}, {64, true, true});
  ASSERT_EQ(plan.configs.size(), 2U);
  EXPECT_THAT(plan.configs[0].metrics, Contains("t.sum"));
  EXPECT_THAT(plan.configs[1].metrics, ElementsAre("p.sum"));
  EXPECT_EQ(plan.passes, plan.configs[0].passes + 1);
  const auto refuses = [](const std::vector<std::string>& metrics) -> std::optional<int> {
    for (const auto& metric : metrics)
      if (metric == "d.sum") return std::nullopt;
    return 1;
  };
  const auto refused = Plan("A1", {"bf16"}, {}, refuses);
  EXPECT_THAT(refused.configs[0].metrics, Not(Contains("d.sum")));
  EXPECT_THAT(LeftOut(refused), HasSubstr("dram: this device refuses it"));
  EXPECT_TRUE(Plan("A1", {}, {}, [](const auto&) { return std::nullopt; }).configs.empty());
  EXPECT_THAT(Plan("A1", {"bf16"}).unread_pipes, ElementsAre("tf32.matrix"));
  EXPECT_THAT(Plan("A1", {"bf16"}, {.most_passes = 64, .every_type = true}).unread_pipes,
              IsEmpty());
  EXPECT_THAT(Plan("A1", {"tf32", "bf16"}, {.most_passes = 1}).unread_pipes,
              ElementsAre("bf16.matrix"))
      << "left out for lack of passes";
  EXPECT_THAT(Plan("B1", {"bf16"}).unread_pipes, IsEmpty()) << "a chip without any";
}

// An engine of cuDNN without the note of tensor cores computes f16 in f32, on the vector units. If
// the note is missing by mistake, the fp16 tensor operations are still counted.
TEST(TensorTypesOf, TheTypeOfTheCallDecidesThenMatrixPipesElseTheSiblingOfTheVectorPipe) {
  const auto types = [](const std::string& type, const std::vector<std::string>& pipes) {
    return TensorTypesOf(BuiltInCuptiTable(), type, pipes);
  };
  EXPECT_THAT(types("", {"bf16.matrix", "fp32.vector"}), ElementsAre("bf16"));
  EXPECT_THAT(types("", {"fp32.vector"}), ElementsAre("tf32"));
  EXPECT_THAT(types("", {"fp16.vector", "fp32.vector"}), ElementsAre("fp16", "tf32"));
  EXPECT_THAT(types("", {}), IsEmpty());
  EXPECT_THAT(types("f16", {"fp32.vector"}), ElementsAre("fp16"));
  EXPECT_THAT(types("f16", {"fp16.matrix", "fp32.vector"}), ElementsAre("fp16"));
  EXPECT_THAT(types("f32", {"fp32.vector"}), ElementsAre("tf32"));
  EXPECT_THAT(types("s8s8s32", {"int8.vector"}), ElementsAre("int8"));
  EXPECT_THAT(types("bf16", {"fp16.matrix"}), ElementsAre("bf16", "fp16"));
  EXPECT_THAT(types("unknown", {"bf16.matrix"}), ElementsAre("bf16"));
  // Source and weights of a mix decide if they are alike.
  EXPECT_THAT(types("f16f16f32", {"fp32.vector"}), ElementsAre("fp16"));
  EXPECT_THAT(types("u8s8f32", {"int8.vector"}), ElementsAre("int8"));
  EXPECT_THAT(types("bf16bf16f16", {"fp32.vector"}), ElementsAre("bf16"));
  EXPECT_THAT(types("f16s8f32", {"fp32.vector"}), ElementsAre("tf32"));
  EXPECT_THAT(types("f16f16", {"fp32.vector"}), ElementsAre("tf32")) << "no mix has two elements";
}

TEST(BuiltInCuptiTable, NamesAreUniqueAndReferencesAndQuantitiesKnown) {
  const auto& table = BuiltInCuptiTable();
  std::set<std::string> chips, families, sets, types;
  for (const auto& chip : table.chips) {
    EXPECT_TRUE(chips.insert(chip.name).second) << chip.name;
    families.insert(chip.family);
  }
  EXPECT_EQ(Representatives(table).size(), families.size()) << "a family in two rows";
  for (const auto& set : table.sets) {
    EXPECT_TRUE(sets.insert(set.name).second) << set.name;
    EXPECT_EQ(set.patches, set.name == "sass");
  }
  for (const auto& type : table.types) {
    EXPECT_TRUE(types.insert(type.name).second) << type.name;
    EXPECT_THAT(TensorTypes(table), Contains(type.tensor));
  }
  for (const auto& metric : table.metrics) {
    EXPECT_THAT(sets, Contains(metric.set));
    EXPECT_THAT(families, IsSupersetOf(metric.families)) << metric.name;
    EXPECT_FALSE(metric.families.empty()) << metric.name;
    EXPECT_GT(metric.weight, 0) << metric.name;
    EXPECT_THAT(metric.name, HasSubstr(".")) << "no rollup (.sum)";
    EXPECT_EQ(metric.name.starts_with("sm__sass_"), metric.set == "sass") << metric.name;
    EXPECT_TRUE(IsPipeKey(metric.quantity) ||
                Matches(AnyOf("half.vector", "l1.tags", "shared", "l2", "dram", "host", "link",
                              "seconds", "clock", "dram.read", "dram.write", "l2.slices",
                              "l2.fabric", "tensor.imma", "tensor.hmma", "tensor.dmma",
                              "tensor.hfma2", "tensor.instructions"))(metric.quantity))
        << metric.quantity;
  }
}

TEST(KernelName, IsWhatItsAuthorWrote) {
  EXPECT_EQ(KernelName("_Z6fillKKPfi"), "fillKK");
  EXPECT_EQ(KernelName("sm90_xmma_fprop_implicit_gemm"), "sm90_xmma_fprop_implicit_gemm");
  EXPECT_EQ(KernelName("void gemm<(Layout)1, float>(float*, int)"), "gemm<(Layout)1, float>");
  EXPECT_EQ(KernelName(std::string(200, 'k')), std::string(200, 'k'));  // reports shorten it
}

// 40 registers: 1280 of a warp, 51 warps of 65536, 48 evenly on 4 schedulers, 6 blocks of 8 warps.
TEST(Waves, AreLimitedByRegistersThreadsAndBlocksOfAnSmWhereTheyAreKnown) {
  EXPECT_DOUBLE_EQ(*Waves({132 * 8, 256, 40, 0, {}}, H200()), 8.0 / 6);
  // 254 registers: 8192 of a warp, 8 warps, one block. 154 KiB of shared memory allow one as well.
  EXPECT_DOUBLE_EQ(*Waves({132, 256, 254, 0, {}}, H200()), 1);
  EXPECT_DOUBLE_EQ(*Waves({264, 256, 32, 154 << 10, {}}, H200()), 2);
  // 2048 threads; 32 blocks of any size.
  EXPECT_DOUBLE_EQ(*Waves({132 * 4, 1024, 16, 0, {}}, H200()), 2);
  EXPECT_DOUBLE_EQ(*Waves({132 * 64, 32, 16, 0, {}}, H200()), 2);
  EXPECT_DOUBLE_EQ(*Waves({1, 33, 16, 0, {}},
                          {.major = 7, .minor = 5, .sms = 1, .shared_bytes_per_sm = 64 << 10}),
                   1.0 / 16);
  EXPECT_FALSE(Waves({1, 256, 40, 0, {}},
                     {.major = 4, .minor = 2, .sms = 132, .shared_bytes_per_sm = 228 << 10}));
  EXPECT_FALSE(Waves({1, 256, 40, 300 << 10, {}}, H200()));
  EXPECT_FALSE(Waves({1, 1024, 255, 0, {}}, H200()));  // 32 warps, and 8 fit
}

}  // namespace
}  // namespace dlroof::gpu
