#include "counters/cupti/ncu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace dlroof {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

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

// The program's arguments come last, and neither caches nor clocks are touched.
TEST(NcuCommand, LeavesCachesAndClocksToTheProgram) {
  NcuChoice choice{"ncu", "gemm.*", 3, 7, "out.csv"};
  EXPECT_THAT(NcuCommand(choice, {"a.sum", "b.sum"}, {"./app", "--csv"}),
              testing::ElementsAreArray({"ncu",
                                         "--csv",
                                         "--page",
                                         "raw",
                                         "--print-units",
                                         "base",
                                         "--target-processes",
                                         "all",
                                         "--cache-control",
                                         "none",
                                         "--clock-control",
                                         "none",
                                         "--metrics",
                                         "a.sum,b.sum",
                                         "--log-file",
                                         "out.csv",
                                         "--kernel-name",
                                         "regex:gemm.*",
                                         "--launch-skip",
                                         "3",
                                         "--launch-count",
                                         "7",
                                         "./app",
                                         "--csv"}));
  choice = {};
  EXPECT_EQ(NcuCommand(choice, {"a.sum"}, {"./app"}).size(), 17U);
}

TEST(WhyNoNcuTable, EachRefusalIsASentenceWithItsCure) {
  const std::pair<const char*, const char*> cases[] = {
      {"==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
       "Performance Counters on the target device 0.",
       "run as root or with CAP_SYS_ADMIN"},
      {"==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other "
       "tool (like DCGM) is concurrently collecting profiling data.",
       "dcgmi profile --pause"},
      {"==ERROR== Unknown Error on device 0. LibraryNotLoaded", "a sandbox (gVisor)"},
      {"==ERROR== Failed to find metric sm__ops_path_tensor_src_fp8.sum", "name the chip"},
      {"==ERROR== Cuda driver is not compatible with Nsight Compute", "update the driver"},
      {"==ERROR== Profiling is not supported on this device", "compute capability 7.5"},
      {"==ERROR== Profiling is not supported for this device. MIG", "compute capability 7.5"},
      {"==ERROR== Metric cannot be collected on a MIG instance", "a GPU that is not divided"},
      {"==ERROR== Failed to save memory for replay: out of memory", "profile a smaller problem"},
      {"==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock", "set TMPDIR"},
      {"==WARNING== No kernels were profiled.", "no kernel fits"},
      {"app\n==ERROR== It rained.\nmore", "ncu refused: It rained."},
      {"", "ncu ended with exit code 9"}};
  for (const auto& [said, expected] : cases) {
    const auto sentence = WhyNoNcuTable(said, 9);
    EXPECT_THAT(sentence, HasSubstr(expected)) << said;
    EXPECT_EQ(sentence.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace dlroof
