// Tests of statistics, hashes and version texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"

namespace dlroof {
namespace {

std::vector<double> OneTo(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.rbegin(), values.rend(), 1.0);  // descending, as the order must not matter
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

TEST(ShuffledOrder, HasEachOnceAndIsThatOfItsSeed) {
  auto order = ShuffledOrder(50, 3);
  EXPECT_EQ(order, ShuffledOrder(50, 3));
  EXPECT_NE(order, ShuffledOrder(50, 4));
  EXPECT_FALSE(std::ranges::is_sorted(order));
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
  EXPECT_TRUE(ShuffledOrder(0, 1).empty());
}

enum class Size { kSmall, kLarge, kNamed };
constexpr KeyRow<Size> kSizes[] = {{Size::kLarge, "large"}, {Size::kSmall, "small"}};

TEST(Keys, EachValueHasItsKeyWhateverTheOrderOfTheTable) {
  EXPECT_EQ(KeyIn(kSizes, Size::kSmall), "small");
  EXPECT_EQ(ValueIn(kSizes, "large"), Size::kLarge);
  EXPECT_EQ(ValuesOf(kSizes), (std::vector{Size::kLarge, Size::kSmall}));
}

TEST(Keys, NoKeyIsGuessed) {
  EXPECT_EQ(ValueIn(kSizes, "Large"), std::nullopt);
  EXPECT_THROW(KeyIn(kSizes, Size::kNamed), std::out_of_range);
}

TEST(ParallelFor, CallsEachIndexOnce) {
  for (const std::size_t count : {0, 1, 1023, 1024, 5001}) {
    std::vector<int> calls(count);
    ParallelFor(count, [&](std::size_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(count, 1));
  }
}

TEST(ParallelFor, ThrowsWhatACallThrows) {
  for (const std::size_t bad : {0, 4999})
    EXPECT_THROW(ParallelFor(5000,
                             [&](std::size_t i) {
                               if (i == bad) throw std::runtime_error("bad");
                             }),
                 std::runtime_error);
}

// Test vectors of the reference implementation of 64-bit FNV-1a.
TEST(HashOf, IsFnv1a) {
  EXPECT_EQ(HashOf(""), 0xcbf29ce484222325U);
  EXPECT_EQ(HashOf("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(HashOf("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(HashOf("bar", HashOf("foo")), HashOf("foobar"));
}

}  // namespace
}  // namespace dlroof
