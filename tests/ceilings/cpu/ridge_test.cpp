#include "ceilings/cpu/ridge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlroof {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Ceiling Proved(double per_second) { return {.per_second = per_second, .proved = true}; }

// 10 GB/s and 40 GFLOP/s meet at 4 flop/byte.
CeilingSet Roofs() {
  CeilingSet set;
  set.bytes[Level::kDram] = Proved(10e9);
  set.flops["fp32.vector"] = Proved(40e9);
  set.flops["fp32.vector.avx512"] = Proved(40e9);
  set.flops["fp32.vector.avx2"] = Proved(20e9);
  return set;
}

TEST(CompareRidges, AcceptsPointsUnderBothRoofsAndWithinTheNoise) {
  auto set = Roofs();
  set.ridges[Level::kDram] = {{1, 10.2e9}, {4, 35e9}, {8, 41e9}};
  const auto before = set;
  CompareRidges(set);
  EXPECT_EQ(set, before);
}

TEST(CompareRidges, DoubtsTheBandwidthThatAPointBeats) {
  auto set = Roofs();
  set.ridges[Level::kDram] = {{1, 12e9}, {2, 26e9}, {8, 40e9}};  // 12 and 13 GB/s
  CompareRidges(set);
  const auto& bandwidth = set.bytes.at(Level::kDram);
  EXPECT_FALSE(bandwidth.proved);
  EXPECT_THAT(bandwidth.Reason(),
              AllOf(HasSubstr("2 flop/byte moved 13 GB/s"), HasSubstr("10 GB/s")));
  EXPECT_TRUE(set.flops.at("fp32.vector").proved);
}

TEST(CompareRidges, DoubtsTheComputeRoofThatAPointBeatsAndTheRowItIsFrom) {
  auto set = Roofs();
  set.flops["fp32.vector"].reasons = {"before"};
  set.ridges[Level::kDram] = {{16, 44e9}};
  CompareRidges(set);
  EXPECT_TRUE(set.bytes.at(Level::kDram).proved);
  EXPECT_FALSE(set.flops.at("fp32.vector").proved);
  EXPECT_THAT(set.flops.at("fp32.vector").Reason(),
              AllOf(HasSubstr("before; "), HasSubstr("16 flop/byte at dram reached 44 GFLOP/s")));
  EXPECT_FALSE(set.flops.at("fp32.vector.avx512").proved);
  EXPECT_TRUE(set.flops.at("fp32.vector.avx2").proved);
}

TEST(CompareRidges, JudgesNothingThatIsAbsent) {
  CeilingSet set;
  set.ridges[Level::kL2] = {{1, 1e12}};
  const auto before = set;
  CompareRidges(set);
  EXPECT_EQ(set, before);
}

TEST(RidgeRowsAround, AreEightWithTheKneeInTheirMiddle) {
  std::vector<RidgeRow> rows;
  for (const int multiply_adds : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64})
    rows.push_back({1, multiply_adds, nullptr});
  const auto bounds = [&](double knee) {
    const auto chosen = RidgeRowsAround(rows, knee);
    EXPECT_EQ(chosen.size(), 8);
    return std::pair(chosen.front().multiply_adds, chosen.back().multiply_adds);
  };
  EXPECT_EQ(bounds(4), std::pair(2, 24));  // 8 multiply-adds on 4 byte are 4 flop/byte
  EXPECT_EQ(bounds(0.01), std::pair(1, 16));
  EXPECT_EQ(bounds(1e6), std::pair(6, 64));
  EXPECT_EQ(RidgeRowsAround(std::span(rows).first(3), 1).size(), 3);
}

}  // namespace
}  // namespace dlroof
