#include "bench/onednn/functions.h"

#include <gtest/gtest.h>
#include <omp.h>

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

}  // namespace
}  // namespace dlroof::onednn
