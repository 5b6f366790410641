#include "ceilings/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace dlroof {
namespace {

using testing::HasSubstr;

constexpr double kKib = 1024, kMib = 1024 * 1024;

struct Plateau {
  double ends_at;     // [byte]
  double per_second;  // [byte/s]
};

// A curve that stays on each plateau to its end and then takes `octaves` to fall to the next,
// evenly in logarithms, as far as the next plateau's end.
std::vector<SweepPoint> Curve(const std::vector<Plateau>& levels, double octaves,
                              double largest = 256 * kMib) {
  std::vector<SweepPoint> curve;
  for (const double bytes : SweepSizes(largest)) {
    double rate = levels.front().per_second;
    for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
      const double beyond = std::log2(bytes / levels[i].ends_at) / octaves;
      rate *=
          std::pow(levels[i + 1].per_second / levels[i].per_second, std::clamp(beyond, 0.0, 1.0));
    }
    curve.push_back({bytes, rate});
  }
  return curve;
}

const Plateau kL1 = {32 * kKib, 340e9}, kL2 = {kMib, 110e9}, kL3 = {32 * kMib, 30e9},
              kDram = {1e15, 12e9};

// Four points an octave and falls that begin within a step: within a quarter of an octave.
void ExpectEdges(const std::vector<SweepPoint>& curve, const std::vector<double>& at,
                 double octaves = 0.35) {
  const auto edges = FindCapacityEdges(curve);
  ASSERT_EQ(edges.size(), at.size());
  for (std::size_t i = 0; i < at.size(); ++i)
    EXPECT_NEAR(std::log2(edges[i].bytes / at[i]), 0, octaves) << i;
}

TEST(SweepSizes, AreFourAnOctaveInWholeKib) {
  const auto sizes = SweepSizes(64 * kKib);
  EXPECT_EQ(sizes.size(), 17);  // four octaves and the end
  EXPECT_EQ(sizes.front(), 4 * kKib);
  EXPECT_EQ(sizes[4], 8 * kKib);
  EXPECT_EQ(sizes.back(), 64 * kKib);
  for (const double bytes : sizes) EXPECT_EQ(std::fmod(bytes, kKib), 0);
  EXPECT_TRUE(SweepSizes(1000).empty());
}

TEST(FindCapacityEdges, FindsOneTwoAndThreeCaches) {
  for (const double octaves : {0.2, 0.5, 1.0}) {
    ExpectEdges(Curve({kL1, kDram}, octaves), {32 * kKib});
    ExpectEdges(Curve({kL1, kL2, kDram}, octaves), {32 * kKib, kMib});
    ExpectEdges(Curve({kL1, kL2, kL3, kDram}, octaves), {32 * kKib, kMib, 32 * kMib});
  }
}

TEST(FindCapacityEdges, SaysBetweenWhichRates) {
  const auto edges = FindCapacityEdges(Curve({kL1, kDram}, 0.5));
  ASSERT_EQ(edges.size(), 1);
  EXPECT_NEAR(edges[0].before, 340e9, 1e9);
  EXPECT_NEAR(edges[0].after, 12e9, 1e8);
}

TEST(FindCapacityEdges, FindsNoneInAFlatCurveNorInNone) {
  EXPECT_TRUE(FindCapacityEdges(Curve({kDram}, 1)).empty());
  EXPECT_TRUE(FindCapacityEdges({}).empty());
  EXPECT_TRUE(FindCapacityEdges({{4096, 1e9}}).empty());
}

// An L3 that is 1.2 times as fast as DRAM is found; one of 1.05 times is not there.
TEST(FindCapacityEdges, FindsAnL3ThatIsHardlyFasterThanDram) {
  ExpectEdges(Curve({kL1, kL2, {32 * kMib, 14.4e9}, kDram}, 0.5), {32 * kKib, kMib, 32 * kMib});
  ExpectEdges(Curve({kL1, kL2, {32 * kMib, 12.6e9}, kDram}, 0.5), {32 * kKib, kMib});
}

// A slope of 11 points from the end of L2 to the end of a small L3, which has no plateau.
TEST(FindCapacityEdges, TakesALevelWithoutAPlateauForAPartOfTheFall) {
  ExpectEdges(Curve({{256 * kKib, 100e9}, {2 * kMib, 50e9}, kDram}, 2.75), {256 * kKib}, 2.5);
}

// Other programs slow points down, by up to 2 % all and by half one in twenty; nothing speeds up.
TEST(FindCapacityEdges, IsNotMisledByDisturbances) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> part(0, 1);
    auto curve = Curve({kL1, kL2, kL3, kDram}, 0.5);
    for (auto& point : curve) {
      point.per_second *= 1 - 0.02 * part(random);
      if (part(random) < 1.0 / 20) point.per_second *= 0.5;
    }
    const auto edges = FindCapacityEdges(curve);
    ASSERT_EQ(edges.size(), 3) << seed;
    EXPECT_NEAR(std::log2(edges[0].bytes / (32 * kKib)), 0, 0.8) << seed;
    EXPECT_NEAR(std::log2(edges[1].bytes / kMib), 0, 0.8) << seed;
    EXPECT_NEAR(std::log2(edges[2].bytes / (32 * kMib)), 0, 0.8) << seed;
  }
}

TEST(EdgeSentence, SaysWhetherTheNearestEdgeAgrees) {
  const std::vector<CapacityEdge> edges = {{33 * kKib, 340e9, 110e9}, {7 * kMib, 24e9, 12e9}};
  EXPECT_EQ(EdgeSentence(edges, 32 * kKib),
            "the curve falls at 33 KiB, from 340 to 110 GB/s; hwloc says 32 KiB: they agree");
  EXPECT_THAT(EdgeSentence(edges, 18 * kMib), HasSubstr("hwloc says 18 MiB: they disagree"));
  EXPECT_THAT(EdgeSentence(edges, kMib / 2), HasSubstr("does not fall near 512 KiB"));
  EXPECT_THAT(EdgeSentence({}, kMib), HasSubstr("does not fall"));
}

}  // namespace
}  // namespace dlroof
