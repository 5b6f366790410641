#include "counters/base/shuffled_order.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dlroof {
namespace {

TEST(ShuffledOrder, HasEachOnceAndIsThatOfItsSeed) {
  auto order = ShuffledOrder(50, 3);
  EXPECT_EQ(order, ShuffledOrder(50, 3));
  EXPECT_NE(order, ShuffledOrder(50, 4));
  EXPECT_FALSE(std::ranges::is_sorted(order));
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
  EXPECT_TRUE(ShuffledOrder(0, 1).empty());
}

}  // namespace
}  // namespace dlroof
