#include "bench/onednn/part_seconds.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <vector>

namespace dlroof::onednn {
namespace {

TEST(FunctionSecondsOnednn, AreProportionalToTheElementsAndLeaveTheThreadsAsTheyWere) {
  const int threads = omp_get_max_threads();
  const double sigmoids = FunctionSeconds(1000, 0).value(),
               tanhs = FunctionSeconds(0, 1000).value();
  EXPECT_GT(sigmoids, 0);
  EXPECT_GT(tanhs, 0);
  EXPECT_DOUBLE_EQ(FunctionSeconds(3000, 2000).value(), 3 * sigmoids + 2 * tanhs);
  EXPECT_EQ(FunctionSeconds(0, 0), 0);
  EXPECT_EQ(omp_get_max_threads(), threads);
}

class ProductSecondsOnednn : public testing::TestWithParam<ProductBy> {};

TEST_P(ProductSecondsOnednn, AreProportionalToTheCountAndLeaveTheThreadsAsTheyWere) {
  const int threads = omp_get_max_threads();
  const auto seconds = [](const std::vector<Product>& products) {
    return ProductSeconds(products, "f32", GetParam()).value();
  };
  const double once = seconds({{32, 128, 64, 1}});
  EXPECT_GT(once, 0);
  EXPECT_DOUBLE_EQ(seconds({{32, 128, 64, 7}}), 7 * once);
  EXPECT_DOUBLE_EQ(seconds({{32, 128, 64, 1}, {32, 128, 64, 2}}), 3 * once);
  EXPECT_EQ(seconds({}), 0);
  EXPECT_EQ(omp_get_max_threads(), threads);
}

// A thousand times the multiply-adds take longer, whatever else runs.
TEST_P(ProductSecondsOnednn, GrowWithTheSize) {
  EXPECT_GT(ProductSeconds({{320, 320, 320, 1}}, "f32", GetParam()).value(),
            ProductSeconds({{32, 32, 32, 1}}, "f32", GetParam()).value());
}

INSTANTIATE_TEST_SUITE_P(, ProductSecondsOnednn,
                         testing::Values(ProductBy::kMatmul, ProductBy::kGemm));

}  // namespace
}  // namespace dlroof::onednn
