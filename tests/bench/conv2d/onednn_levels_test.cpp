#include "bench/conv2d/onednn_levels.h"

#include <gtest/gtest.h>

namespace dlroof::conv2d {
namespace {

std::optional<double> Executed(const std::string& problem, ProductDirection direction,
                               const std::string& implementation) {
  Conv2dCase conv;
  conv.problem = ParseConv2d(problem);
  conv.direction = direction;
  return ExecutedOverUseful(conv, implementation, "avx512_core");
}

TEST(ExecutedOverUseful, IsOneWhereTheChannelsFillTheVectorsOrAreFewToRead) {
  EXPECT_EQ(Executed("n1c3h112w112k64r7s7_s2p3", ProductDirection::kForward, "jit:avx512_core"), 1);
  for (const auto* implementation : {"jit:avx512_core", "brgconv:avx2", "jit_1x1:avx512_core"})
    EXPECT_EQ(Executed("n1c64h28w28k32r3s3_p1", ProductDirection::kForward, implementation), 1);
}

TEST(ExecutedOverUseful, CountsTheLastVectorWhole) {
  // 20 filters: two vectors of 16 lanes, three of 8. 24 channels: two, three.
  const std::string problem = "n1c24h28w28k20r3s3_p1";
  EXPECT_EQ(Executed(problem, ProductDirection::kForward, "brgconv:avx512_core"), 32 / 20.0);
  EXPECT_EQ(Executed(problem, ProductDirection::kForward, "brgconv:avx2"), 24 / 20.0);
  EXPECT_EQ(Executed(problem, ProductDirection::kForward, "jit:avx512_core"),
            32 / 20.0 * (32 / 24.0));
  EXPECT_EQ(Executed(problem, ProductDirection::kBackwardData, "brgconv:avx512_core"), 32 / 24.0);
}

TEST(ExecutedOverUseful, VectorsOfDepthwiseKernelsHoldGroups) {
  EXPECT_EQ(Executed("n1c72h28w28k72r3s3_p1g72", ProductDirection::kForward, "jit_dw:avx512_core"),
            80 / 72.0);
}

TEST(ExecutedOverUseful, IsNotKnownOfReferenceLoops) {
  EXPECT_FALSE(Executed("n1c3h8w8k4r3s3_p1", ProductDirection::kForward, "ref:any"));
  EXPECT_FALSE(Executed("n1c3h8w8k4r3s3_p1", ProductDirection::kForward, "gemm:jit"));
}

}  // namespace
}  // namespace dlroof::conv2d
