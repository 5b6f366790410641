#include "reporters/roofline/census.h"

#include <gtest/gtest.h>

#include "reporters/roofline/placed_json.h"

namespace dlroof {
namespace {

Record Kernel(const std::string& name, double seconds, std::map<std::string, double> flops,
              std::optional<double> launches) {
  Record record{.name = name, .repetitions = {{.seconds = seconds}}};
  record.work[Provenance::kMeasured] = {.flops = std::move(flops), .launches = launches};
  return record;
}

TEST(TakeCensus, CountsAndTimesKernelsWithoutFlopsPerSet) {
  const auto census =
      TakeCensus({Kernel("fw/gemm", 3, {{"fp16.matrix", 90}, {"fp32.vector", 10}}, 2),
                  Kernel("fw/cast", 1, {{"fp32.vector", 0}}, 6),
                  Kernel("bw/gemm", 5, {{"fp32.vector", 7}}, 1), Kernel("fw/unknown", 9, {}, 1)});
  ASSERT_EQ(census.size(), 1U) << "bw has none without FLOPs";
  EXPECT_EQ(census[0].set, "fw");
  const auto json = ToJson(census[0]);
  EXPECT_EQ(json["zero_flop_launch_share"], 0.75);
  EXPECT_EQ(json["zero_flop_time_share"], 0.25);
  EXPECT_EQ(json["matrix_share"], 0.9);
  EXPECT_EQ(json["flops_per_second"], 25);
  EXPECT_EQ(json["kernels"], 2) << "one without known FLOPs is neither";
}

TEST(TakeCensus, UnknownLaunchesStayUnknown) {
  const auto census = TakeCensus({Kernel("a", 1, {{"fp32.vector", 0}}, std::nullopt),
                                  Kernel("b", 1, {{"fp32.vector", 1}}, 2)});
  ASSERT_EQ(census.size(), 1U);
  const auto json = ToJson(census[0]);
  EXPECT_FALSE(json.contains("launches"));
  EXPECT_FALSE(json.contains("zero_flop_launch_share"));
  EXPECT_FALSE(json.contains("set"));
  EXPECT_EQ(json["zero_flop_time_share"], 0.5);
}

TEST(TakeCensus, IsSilentWithoutSuchKernels) {
  EXPECT_TRUE(TakeCensus({Kernel("a/b", 1, {{"fp32.vector", 1}}, 1)}).empty());
  EXPECT_TRUE(TakeCensus({}).empty());
}

}  // namespace
}  // namespace dlroof
