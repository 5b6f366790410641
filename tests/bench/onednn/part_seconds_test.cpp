#include "bench/onednn/part_seconds.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <vector>

namespace dlroof::onednn {
namespace {

TEST(FunctionCostOnednn, IsProportionalToTheElementsAndLeavesTheThreadsAsTheyWere) {
  const int threads = omp_get_max_threads();
  const auto sigmoids = FunctionCost(1000, 0, 20).value(),
             tanhs = FunctionCost(0, 1000, 20).value(), both = FunctionCost(3000, 2000, 20).value();
  EXPECT_GT(sigmoids.seconds, 0);
  EXPECT_GT(tanhs.seconds, 0);
  EXPECT_DOUBLE_EQ(both.seconds, 3 * sigmoids.seconds + 2 * tanhs.seconds);
  EXPECT_EQ(both.instructions.has_value(), sigmoids.instructions && tanhs.instructions);
  if (both.instructions) {
    EXPECT_DOUBLE_EQ(*both.instructions, 3 * *sigmoids.instructions + 2 * *tanhs.instructions);
  }
  EXPECT_EQ(FunctionCost(0, 0, 20)->seconds, 0);
  EXPECT_EQ(omp_get_max_threads(), threads);
}

class ProductCostOnednn : public testing::TestWithParam<ProductBy> {};

TEST_P(ProductCostOnednn, IsProportionalToTheCountAndLeavesTheThreadsAsTheyWere) {
  const int threads = omp_get_max_threads();
  const auto seconds = [](const std::vector<Product>& products) {
    return ProductCost(products, "f32", GetParam(), 20)->seconds;
  };
  const double once = seconds({{32, 128, 64, 1}});
  EXPECT_GT(once, 0);
  EXPECT_DOUBLE_EQ(seconds({{32, 128, 64, 7}}), 7 * once);
  EXPECT_DOUBLE_EQ(seconds({{32, 128, 64, 1}, {32, 128, 64, 2}}), 3 * once);
  EXPECT_EQ(seconds({}), 0);
  EXPECT_EQ(omp_get_max_threads(), threads);
}

// A thousand times the multiply-adds take longer, whatever else runs. 32^3 of them are 2048
// multiply-adds of 16 lanes, so at least as many instructions; less would count another process.
TEST_P(ProductCostOnednn, GrowsWithTheSize) {
  const auto small = ProductCost({{32, 32, 32, 1}}, "f32", GetParam(), 20).value(),
             large = ProductCost({{320, 320, 320, 1}}, "f32", GetParam(), 0).value();
  EXPECT_GT(large.seconds, small.seconds);
  if (!small.instructions) GTEST_SKIP() << "this system counts no instructions";
  EXPECT_GT(*small.instructions, 2000);
  EXPECT_LT(*small.instructions, 1e6);
}

INSTANTIATE_TEST_SUITE_P(, ProductCostOnednn,
                         testing::Values(ProductBy::kMatmul, ProductBy::kGemm));

}  // namespace
}  // namespace dlroof::onednn
