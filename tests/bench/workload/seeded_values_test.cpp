#include "bench/workload/seeded_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

namespace dlroof::workload {
namespace {

TEST(SeededValues, AreTheSameEverywhere) {
  // splitmix64's published first output for seed 0 is 0xe220a8397b1dcdaf; its top 24 bits are
  // 0xe220a8, so the first value in [0, 1] is 0xe220a8 / 2^24.
  EXPECT_EQ(SeededValues(1, 0, "f32", 0, 1).at(0), static_cast<float>(0xe220a8) / 16777216.0F);
  EXPECT_EQ(SeededValues(100, 7, "f32", -1, 1), SeededValues(100, 7, "f32", -1, 1));
  EXPECT_NE(SeededValues(100, 7, "f32", -1, 1), SeededValues(100, 8, "f32", -1, 1));
}

TEST(SeededValues, AShorterRowIsTheBeginningOfALongerOne) {
  auto longer = SeededValues(50, 3, "bf16", -2, 2);
  longer.resize(20);
  EXPECT_EQ(SeededValues(20, 3, "bf16", -2, 2), longer);
}

TEST(SeededValues, FillTheirRangeEvenly) {
  const auto values = SeededValues(100000, 1, "f32", -0.5F, 1.5F);
  EXPECT_GE(*std::ranges::min_element(values), -0.5F);
  EXPECT_LE(*std::ranges::max_element(values), 1.5F);
  // Ten bins of 10,000 on average; the standard deviation of one is sqrt(1e5 * 0.1 * 0.9) = 95.
  std::vector<int> bins(10);
  for (const float value : values) ++bins.at(std::min(9, static_cast<int>((value + 0.5F) / 0.2F)));
  for (const int bin : bins) EXPECT_NEAR(bin, 10000, 500);
}

TEST(SeededValues, IntegersTakeEveryValueOfTheirRange) {
  const auto values = SeededValues(1000, 5, "s8", -3, 4);
  const std::set<float> seen(values.begin(), values.end());
  EXPECT_EQ(seen, (std::set<float>{-3, -2, -1, 0, 1, 2, 3, 4}));
}

TEST(SeededValues, AreExactInTheirType) {
  for (const float value : SeededValues(1000, 2, "bf16", -1, 1))
    EXPECT_EQ(RoundToBf16(value), value);
  for (const float value : SeededValues(1000, 2, "f16", -1, 1)) EXPECT_EQ(RoundToF16(value), value);
}

TEST(SeededValues, RefuseWhatTheyCannotMake) {
  EXPECT_THROW(SeededValues(1, 1, "f8", 0, 1), std::logic_error);
  EXPECT_THROW(SeededValues(-1, 1, "f32", 0, 1), std::logic_error);
  EXPECT_THROW(SeededValues(1, 1, "f32", 1, 0), std::logic_error);
  EXPECT_TRUE(SeededValues(0, 1, "u8", 0, 1).empty());
}

TEST(SeededIndices, ReachEveryPositionAndNoOther) {
  const auto indices = SeededIndices(1000, 4, 7);
  EXPECT_EQ(std::set<int64_t>(indices.begin(), indices.end()),
            (std::set<int64_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(indices, SeededIndices(1000, 4, 7));
  EXPECT_THROW(SeededIndices(1, 1, 0), std::logic_error);
}

TEST(RoundToBf16, TiesGoToEven) {
  // bf16 keeps 8 significant bits: between 1 and 2 the step is 2^-7.
  EXPECT_EQ(RoundToBf16(1 + 0x1p-8F), 1.0F);           // half-way, even below
  EXPECT_EQ(RoundToBf16(1 + 0x3p-8F), 1 + 0x1p-6F);    // half-way, even above
  EXPECT_EQ(RoundToBf16(1 + 0x1.1p-8F), 1 + 0x1p-7F);  // just above half-way
  EXPECT_EQ(RoundToBf16(-1 - 0x1.1p-8F), -1 - 0x1p-7F);
  EXPECT_TRUE(std::isnan(RoundToBf16(std::numeric_limits<float>::quiet_NaN())));
}

TEST(RoundToF16, NormalSubnormalAndInfinite) {
  EXPECT_EQ(RoundToF16(1 + 0x1p-11F), 1.0F);         // 11 significant bits: half-way, even below
  EXPECT_EQ(RoundToF16(1 + 0x3p-11F), 1 + 0x1p-9F);  // half-way, even above
  EXPECT_EQ(RoundToF16(0x1.8p-24F), 0x1p-23F);       // subnormal: 1.5 steps, to even
  EXPECT_EQ(RoundToF16(0x1p-25F), 0.0F);             // half a step, to even
  EXPECT_EQ(RoundToF16(65519.0F), 65504.0F);
  EXPECT_EQ(RoundToF16(-65520.0F), -std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace dlroof::workload
