#include "ceilings/cpu_ceilings/curves.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "counters/base/keys.h"
#include "tests/fakes/ceilings.h"
#include "tests/fakes/refusal.h"

namespace dlroof::cpu_ceilings {
namespace {

using fakes::TextOf, testing::ElementsAre, testing::HasSubstr;

constexpr double kKib = 1024, kMib = 1024 * 1024;

struct Plateau {
  double ends_at;     // [byte]
  double per_second;  // [byte/s]
};

// A curve that stays on each plateau to its end and then takes `octaves` to fall to the next,
// evenly in logarithms, as far as the next plateau's end.
std::vector<machine::SweepPoint> Curve(const std::vector<Plateau>& levels, double octaves,
                                       double largest = 256 * kMib) {
  std::vector<machine::SweepPoint> curve;
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
void ExpectEdges(const std::vector<machine::SweepPoint>& curve, const std::vector<double>& at,
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

TEST(FindCapacityEdges, FindsNoneToThreeCachesAlsoBehindAFallingCurve) {
  for (const double octaves : {0.2, 0.5, 1.0}) {
    ExpectEdges(Curve({kL1, kDram}, octaves), {32 * kKib});
    ExpectEdges(Curve({kL1, kL2, kDram}, octaves), {32 * kKib, kMib});
    ExpectEdges(Curve({kL1, kL2, kL3, kDram}, octaves), {32 * kKib, kMib, 32 * kMib});
  }
  const auto edges = FindCapacityEdges(Curve({kL1, kDram}, 0.5));
  EXPECT_EQ(edges.size(), 1);
  EXPECT_NEAR(edges.at(0).before, 340e9, 1e9);
  EXPECT_NEAR(edges.at(0).after, 12e9, 1e8);
  EXPECT_TRUE(FindCapacityEdges(Curve({kDram}, 1)).empty());
  EXPECT_TRUE(FindCapacityEdges({}).empty());
  EXPECT_TRUE(FindCapacityEdges({{4096, 1e9}}).empty());
  // An L3 that is 1.2 times as fast as DRAM is found; one of 1.05 times is not there.
  ExpectEdges(Curve({kL1, kL2, {32 * kMib, 14.4e9}, kDram}, 0.5), {32 * kKib, kMib, 32 * kMib});
  ExpectEdges(Curve({kL1, kL2, {32 * kMib, 12.6e9}, kDram}, 0.5), {32 * kKib, kMib});
  // A slope of 11 points from the end of L2 to the end of a small L3, which has no plateau.
  ExpectEdges(Curve({{256 * kKib, 100e9}, {2 * kMib, 50e9}, kDram}, 2.75), {256 * kKib}, 2.5);
  // Three noisy points at the end are no level.
  auto curve = Curve({kL1, kDram}, 0.5);
  for (auto point = curve.end() - 3; point != curve.end(); ++point) point->per_second /= 2;
  ExpectEdges(curve, {32 * kKib});
  // As measured with one thread on Zen 5 (48 KiB, 1 MiB, 32 MiB): L3 is a victim cache and keeps a
  // part of what is larger, so that DRAM's part of the curve falls to its end.
  const std::vector<std::pair<double, double>> measured = {
      // KiB, GB/s
      {32, 489},     {38, 490},     {45, 484},     {54, 191},     {64, 188},     {76, 187},
      {91, 186},     {108, 199},    {128, 182},    {152, 185},    {181, 188},    {215, 183},
      {256, 198},    {304, 196},    {362, 199},    {431, 203},    {512, 239},    {609, 236},
      {724, 232},    {861, 238},    {1024, 221},   {1218, 149},   {1448, 143},   {1722, 135},
      {2048, 131},   {2435, 127},   {2896, 125},   {3444, 120},   {4096, 124},   {4871, 118},
      {5793, 109},   {6889, 112},   {8192, 113},   {9742, 113},   {11585, 116},  {13777, 116},
      {16384, 115},  {19484, 113},  {23170, 110},  {27554, 98.1}, {32768, 54.8}, {38968, 52.2},
      {46341, 64.0}, {55109, 57.8}, {65536, 51.5}, {77936, 49.5}, {92682, 45.0}, {110218, 41.2},
      {131072, 42.1}};
  std::vector<machine::SweepPoint> falling;
  for (const auto& [kib, rate] : measured) falling.push_back({kib * kKib, rate * 1e9});
  ExpectEdges(falling, {48 * kKib, kMib, 32 * kMib});
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
    SCOPED_TRACE(seed);
    ExpectEdges(curve, {32 * kKib, kMib, 32 * kMib}, 0.8);
  }
}

CapacityEdge At(double bytes, double before = 2e9, double after = 1e9) {
  return {bytes, before, after};
}

std::map<Level, double> BytesOf(const std::map<Level, CapacityEdge>& found) {
  std::map<Level, double> bytes;
  for (const auto& [level, edge] : found) bytes[level] = edge.bytes;
  return bytes;
}

using Sizes = std::map<Level, double>;

TEST(MatchEdges, GivesEachLevelTheNearestEdgeAndTheLastToAPartOfASharedCache) {
  const Sizes reported = {{Level::kL1, 32 * kKib}, {Level::kL2, kMib}, {Level::kL3, 18 * kMib}};
  EXPECT_EQ(BytesOf(MatchEdges({At(33 * kKib), At(1.1 * kMib), At(7 * kMib)}, reported)),
            (Sizes{{Level::kL1, 33 * kKib}, {Level::kL2, 1.1 * kMib}, {Level::kL3, 7 * kMib}}));
  // 100 KiB is a factor of 3.1 from L1's size and of 10 from L2's.
  EXPECT_EQ(BytesOf(MatchEdges({At(100 * kKib)}, reported)), (Sizes{{Level::kL1, 100 * kKib}}));
  // 64 KiB is within a factor of 4 of both, and L1's.
  EXPECT_EQ(
      BytesOf(MatchEdges({At(64 * kKib)}, {{Level::kL1, 48 * kKib}, {Level::kL2, 256 * kKib}})),
      (Sizes{{Level::kL1, 64 * kKib}}));
  EXPECT_TRUE(MatchEdges({}, reported).empty());
  EXPECT_TRUE(MatchEdges({At(kMib)}, {}).empty());
  // A cloud's virtual machine: 480 MiB are reported, 30 MiB are its part.
  const Sizes cloud = {{Level::kL1, 48 * kKib}, {Level::kL2, 2 * kMib}, {Level::kL3, 480 * kMib}};
  EXPECT_EQ(BytesOf(MatchEdges({At(48 * kKib), At(2 * kMib), At(30 * kMib)}, cloud)),
            (Sizes{{Level::kL1, 48 * kKib}, {Level::kL2, 2 * kMib}, {Level::kL3, 30 * kMib}}));
  EXPECT_EQ(BytesOf(MatchEdges({At(48 * kKib), At(2 * kMib)}, cloud)),
            (Sizes{{Level::kL1, 48 * kKib}, {Level::kL2, 2 * kMib}}))
      << "L2's own edge is not L3's too";
  EXPECT_TRUE(MatchEdges({At(kMib)}, {{Level::kL1, 32 * kKib}}).empty()) << "it is no part of L1";
}

LevelEdges Edges(const Sizes& reported, const std::vector<CapacityEdge>& edges) {
  return {reported, MatchEdges(edges, reported)};
}

TEST(CompareEdge, SaysWhetherTheEdgeAgrees) {
  const std::vector<CapacityEdge> found = {{33 * kKib, 340e9, 110e9}, {7 * kMib, 24e9, 12e9}};
  const auto edges =
      Edges({{Level::kL1, 32 * kKib}, {Level::kL2, kMib / 2}, {Level::kL3, 18 * kMib}}, found);
  EXPECT_EQ(CompareEdge(edges, Level::kL1).text,
            "the curve falls at 33 KiB, from 340 to 110 GB/s; hwloc says 32 KiB: they agree");
  EXPECT_THAT(CompareEdge(edges, Level::kL2).text,
              HasSubstr("does not fall near 512 KiB, the size that hwloc says: they disagree"));
  EXPECT_TRUE(CompareEdge(edges, Level::kL2).disagrees);
  EXPECT_THAT(CompareEdge(edges, Level::kL3).text, HasSubstr("hwloc says 18 MiB: they disagree"));
  for (const double bytes : {9.1 * kMib, 35.9 * kMib})
    EXPECT_FALSE(CompareEdge(Edges({{Level::kL3, 18 * kMib}}, {At(bytes)}), Level::kL3).disagrees);
  for (const double bytes : {8.9 * kMib, 36.1 * kMib})
    EXPECT_TRUE(CompareEdge(Edges({{Level::kL3, 18 * kMib}}, {At(bytes)}), Level::kL3).disagrees);
}

std::string Why(const LevelEdges& edges, Level level, double bytes, double per_second) {
  return TextOf(EdgeReason(edges, level, bytes, per_second));
}

// 32 KiB are reported, loads fall at 12 KiB from 300 to 100 GB/s.
TEST(EdgeReason, IsAboutArraysBeyondAnEarlyEdgeOrInANearerCacheAndElseNone) {
  auto edges = Edges({{Level::kL1, 32 * kKib}}, {At(12 * kKib, 300e9, 100e9)});
  EXPECT_EQ(
      Why(edges, Level::kL1, 16 * kKib, 100e9),
      "hwloc says that l1 has 32 KiB per thread, but loads get slower at 12 KiB: arrays of 16 "
      "KiB are beyond it");
  EXPECT_EQ(Why(edges, Level::kL1, 8 * kKib, 100e9), "") << "before the edge";
  EXPECT_EQ(Why(edges, Level::kL1, 16 * kKib, 290e9), "") << "noise: as fast as before the edge";
  EXPECT_NE(Why(edges, Level::kL1, 16 * kKib, 269e9), "") << "more than 10 % below 300";
  const auto near = Edges({{Level::kL1, 32 * kKib}}, {At(17 * kKib, 300e9, 100e9)});
  EXPECT_EQ(Why(near, Level::kL1, 24 * kKib, 100e9), "") << "within a factor of 2 they agree";
  // 1 MiB of L2 is reported, it has 3 MiB: sets of L3 of 3 x 1 MiB stay in it.
  const Sizes reported = {{Level::kL2, kMib}, {Level::kL3, 36 * kMib}};
  edges = Edges(reported, {At(3 * kMib), At(30 * kMib)});
  EXPECT_THAT(
      Why(edges, Level::kL3, 3 * kMib, 1e9),
      HasSubstr("l2 has 1 MiB per thread, but loads get slower at 3 MiB: part of the traffic "
                "of arrays of 3 MiB stayed in l2"));
  EXPECT_EQ(Why(edges, Level::kL3, 6.1 * kMib, 1e9), "") << "twice what L2 holds";
  EXPECT_EQ(Why(edges, Level::kL2, kMib / 2, 1e9), "") << "more L2 is no harm to itself";
  EXPECT_EQ(Why(Edges(reported, {At(kMib / 3)}), Level::kL3, kMib / 2, 1e9), "") << "an early edge";
  EXPECT_NE(Why(Edges({{Level::kL3, 36 * kMib}}, {At(90 * kMib)}), Level::kDram, 144 * kMib, 1e9),
            "");
  const Sizes sizes = {{Level::kL1, 32 * kKib}, {Level::kL2, kMib}, {Level::kL3, 32 * kMib}};
  const auto agreeing = Edges(sizes, FindCapacityEdges(Curve({kL1, kL2, kL3, kDram}, 0.5)));
  ASSERT_EQ(agreeing.found.size(), 3);
  for (const Level level : {Level::kL1, Level::kL2, Level::kL3, Level::kDram})
    EXPECT_EQ(Why(agreeing, level, 1, 1), "");
}

// 10 GB/s and 40 GFLOP/s meet at 4 flop/byte.
machine::CeilingSet Roofs() {
  machine::CeilingSet set;
  set.bytes[Level::kDram] = fakes::Validated(10e9);
  set.flops["fp32.vector"] = fakes::Validated(40e9);
  set.flops["fp32.vector.avx512"] = fakes::Validated(40e9);
  set.flops["fp32.vector.avx2"] = fakes::Validated(20e9);
  return set;
}

TEST(CompareRidges, AcceptsPointsUnderBothRoofsAndCaveatsTheRoofThatAPointBeats) {
  auto set = Roofs();
  set.ridges[Level::kDram] = {{1, 10.2e9}, {4, 35e9}, {8, 41e9}};
  const auto before = set;
  CompareRidges(set);
  EXPECT_EQ(set, before);
  machine::CeilingSet without_roofs;
  without_roofs.ridges[Level::kL2] = {{1, 1e12}};
  const auto as_it_was = without_roofs;
  CompareRidges(without_roofs);
  EXPECT_EQ(without_roofs, as_it_was);
  auto beaten = Roofs();
  beaten.ridges[Level::kDram] = {{1, 12e9}, {2, 26e9}, {8, 40e9}};  // 12 and 13 GB/s
  CompareRidges(beaten);
  const auto& bandwidth = beaten.bytes.at(Level::kDram);
  EXPECT_FALSE(bandwidth.IsValidated());
  fakes::ExpectHas(bandwidth.ReasonText(), {"2 flop/byte moved 13 GB/s", "10 GB/s"});
  EXPECT_TRUE(beaten.flops.at("fp32.vector").IsValidated());
  auto computed = Roofs();
  computed.flops["fp32.vector"].reasons = {"before"};
  computed.ridges[Level::kDram] = {{16, 44e9}};
  CompareRidges(computed);
  EXPECT_TRUE(computed.bytes.at(Level::kDram).IsValidated());
  EXPECT_FALSE(computed.flops.at("fp32.vector").IsValidated());
  fakes::ExpectHas(computed.flops.at("fp32.vector").ReasonText(),
                   {"before; ", "16 flop/byte at dram reached 44 GFLOP/s"});
  EXPECT_FALSE(computed.flops.at("fp32.vector.avx512").IsValidated());
  EXPECT_TRUE(computed.flops.at("fp32.vector.avx2").IsValidated());
}

TEST(RidgeRowsAround, AreEightWithTheKneeInTheirMiddle) {
  std::vector<cpu_kernels::RidgeRow> rows;
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

// `cpus` CPUs, a core each, with own L1 and L2 and one L3.
cpu::Topology Caches(int cpus, double l1, double l2, double l3) {
  cpu::Topology topology;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    if (l1 > 0) topology.cache_of_cpu[Level::kL1][cpu] = {cpu, l1};
    if (l2 > 0) topology.cache_of_cpu[Level::kL2][cpu] = {cpu, l2};
    if (l3 > 0) topology.cache_of_cpu[Level::kL3][cpu] = {0, l3};
  }
  return topology;
}

const cpu::Topology kFourCpus = Caches(4, 32 * kKib, kMib, 36 * kMib);

std::vector<double> Kib(const std::vector<WorkingSet>& sets) {
  return VectorOf<double>(sets, [](const auto& set) { return set.bytes / kKib; });
}

TEST(ChooseWorkingSets,
     FitTheirLevelAndNotTheNearerOneShareTheCachesOfSiblingsAndAreOfSeveralSizes) {
  auto chosen = ChooseWorkingSets(kFourCpus, {0, 1}, 1e12);
  EXPECT_EQ(chosen.sets.at(Level::kL1).front().bytes, 16 * kKib);
  EXPECT_EQ(chosen.sets.at(Level::kL2).front().bytes, 256 * kKib);
  // Two threads share L3: 18 MiB each; sqrt(1 * 18) = 4.24 MiB.
  EXPECT_NEAR(chosen.sets.at(Level::kL3).front().bytes / kMib, 4.243, 0.001);
  // All caches that two threads use, four times, over both.
  EXPECT_EQ(chosen.sets.at(Level::kDram).front().bytes,
            4 * (36 * kMib + 2 * kMib + 2 * 32 * kKib) / 2);
  EXPECT_EQ(TextOf(chosen.sets.at(Level::kDram).front().reason), "");
  EXPECT_TRUE(chosen.absent.empty());
  cpu::Topology topology;
  for (const int cpu : {0, 1}) topology.cache_of_cpu[Level::kL1][cpu] = {0, 48 * kKib};
  chosen = ChooseWorkingSets(topology, {0, 1}, 1e12);
  EXPECT_EQ(chosen.sets.at(Level::kL1).front().bytes, 12 * kKib);
  const auto alone = ChooseWorkingSets(Caches(1, 32 * kKib, kMib, 36 * kMib), {0}, 1e12);
  EXPECT_THAT(Kib(alone.sets.at(Level::kL1)), ElementsAre(16, 8, 24));
  EXPECT_THAT(Kib(alone.sets.at(Level::kL2)), ElementsAre(256, 512, 768));
  // sqrt(1 * 36) = 6 MiB, half of 36, 3 x 1.
  EXPECT_THAT(Kib(alone.sets.at(Level::kL3)), ElementsAre(6 * 1024, 18 * 1024, 3 * 1024));
  EXPECT_EQ(alone.sets.at(Level::kDram).size(), 1);
  EXPECT_EQ(alone.largest_bytes, 4 * (37 * kMib + 32 * kKib));
}

TEST(ChooseWorkingSets, LeavesOutASmallL3AndMissingCachesAndCountsEverySocket) {
  auto topology = Caches(4, 32 * kKib, kMib, 7 * kMib);
  auto chosen = ChooseWorkingSets(topology, {0, 1, 2, 3}, 1e12);
  EXPECT_FALSE(chosen.sets.contains(Level::kL3));
  EXPECT_THAT(chosen.absent.at(Level::kL3), HasSubstr("less than twice"));
  // One thread has all 7 MiB: at least 3 x L2, so that L2 keeps nothing.
  const auto alone = ChooseWorkingSets(topology, {0}, 1e12);
  EXPECT_NEAR(alone.sets.at(Level::kL3).front().bytes / kMib, 3, 1e-9);
  topology = Caches(2, 32 * kKib, 2 * kMib, 480 * kMib);
  chosen = ChooseWorkingSets(topology, {0, 1}, 960 * kMib);  // the caches have 484
  EXPECT_EQ(chosen.sets.at(Level::kDram).front().bytes, 240 * kMib);
  EXPECT_THAT(TextOf(chosen.sets.at(Level::kDram).front().reason),
              HasSubstr("only 1.0 x the caches"));
  cpu::Topology sockets;
  for (const int cpu : {0, 1}) sockets.cache_of_cpu[Level::kL3][cpu] = {cpu, 10 * kMib};
  const auto both = ChooseWorkingSets(sockets, {0, 1}, 1e12);
  EXPECT_EQ(both.sets.at(Level::kDram).front().bytes, 40 * kMib);  // 80 MiB over two threads
  const auto one = ChooseWorkingSets(sockets, {1}, 1e12);
  EXPECT_EQ(one.sets.at(Level::kDram).front().bytes, 40 * kMib);
  const auto nothing = ChooseWorkingSets({}, {0}, std::nullopt);
  EXPECT_EQ(nothing.absent.size(), 3);
  EXPECT_EQ(nothing.sets.size(), 1);
  EXPECT_THAT(TextOf(nothing.sets.at(Level::kDram).front().reason),
              HasSubstr("no cache size is known"));
  const auto no_l3 = ChooseWorkingSets(Caches(1, 32 * kKib, 256 * kKib, 0), {0}, 1e12);
  EXPECT_TRUE(no_l3.absent.contains(Level::kL3));
  EXPECT_EQ(no_l3.sets.at(Level::kDram).front().bytes, 4 * (256 + 32) * kKib);
  // A quarter of this L2 is 64 KiB, less than twice the L1 of 48 KiB: L1 would serve a part.
  const auto missing = ChooseWorkingSets(Caches(1, 48 * kKib, 256 * kKib, 0), {0}, 1e12);
  EXPECT_THAT(Kib(missing.sets.at(Level::kL2)), ElementsAre(128, 192));
}

TEST(NearerCacheReason, CatchesASetThatStaysInANearerCacheAndHasNoneAboutThoseChosen) {
  EXPECT_THAT(TextOf(NearerCacheReason(kFourCpus, {0, 1}, Level::kL2, 16 * kKib)),
              HasSubstr("arrays are 16 KiB and its share of L1 is 32 KiB"));
  EXPECT_THAT(TextOf(NearerCacheReason(kFourCpus, {0, 1}, Level::kL3, 768 * kKib)),
              HasSubstr("L2"));
  // Two threads share L3: 18 MiB each.
  EXPECT_THAT(TextOf(NearerCacheReason(kFourCpus, {0, 1}, Level::kDram, 30 * kMib)),
              HasSubstr("18 MiB"));
  EXPECT_EQ(TextOf(NearerCacheReason(kFourCpus, {0, 1}, Level::kDram, 72 * kMib)), "");
  EXPECT_EQ(TextOf(NearerCacheReason(kFourCpus, {0, 1}, Level::kL2, 64 * kKib)), "");
  EXPECT_EQ(TextOf(NearerCacheReason(kFourCpus, {0, 1}, Level::kL1, 1 * kKib)), "");
  for (const auto& topology : {kFourCpus, Caches(4, 48 * kKib, 2 * kMib, 480 * kMib),
                               Caches(4, 32 * kKib, 256 * kKib, 8 * kMib)})
    for (const std::vector<int>& cpus : {std::vector<int>{0}, {0, 1}, {0, 1, 2, 3}})
      for (const auto& [level, sets] : ChooseWorkingSets(topology, cpus, 1e12).sets)
        for (const auto& set : sets)
          EXPECT_EQ(TextOf(NearerCacheReason(topology, cpus, level, set.bytes)), "") << set.how;
}

}  // namespace
}  // namespace dlroof::cpu_ceilings
