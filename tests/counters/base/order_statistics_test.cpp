#include "counters/base/order_statistics.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace dlroof {
namespace {

std::vector<double> OneTo(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.rbegin(), values.rend(), 1.0);  // descending: order must not matter
  return values;
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwo) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(Median({7}), 7);
  EXPECT_THROW(Median({}), std::invalid_argument);
}

TEST(MedianInterval95, NeedsSixValues) {
  EXPECT_EQ(MedianInterval95(OneTo(5)), std::nullopt);
  EXPECT_EQ(MedianInterval95({}), std::nullopt);
}

// The textbook table of ranks: n = 6: 1, 6; 9: 2, 8; 10: 2, 9; 20: 6, 15; 25: 8, 18.
TEST(MedianInterval95, TakesTheRanksOfTheTable) {
  const std::pair<int, std::pair<double, double>> table[] = {
      {6, {1, 6}}, {8, {1, 8}}, {9, {2, 8}}, {10, {2, 9}}, {20, {6, 15}}, {25, {8, 18}}};
  for (const auto& [n, ranks] : table) EXPECT_EQ(MedianInterval95(OneTo(n)), ranks) << n;
}

TEST(MedianInterval95, WorksForManyValues) {
  const auto interval = MedianInterval95(OneTo(5000)).value();
  // Normal approximation: 2500 -+ 1.96 * sqrt(5000) / 2 = 2500 -+ 69.3.
  EXPECT_NEAR(interval.first, 2500 - 69, 2);
  EXPECT_NEAR(interval.second, 2500 + 70, 2);
}

}  // namespace
}  // namespace dlroof
