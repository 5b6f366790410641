#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ceilings/cpu_ceilings/curves.h"
#include "tests/fakes/reason.h"

namespace dlroof::cpu_ceilings {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kKibibyte = 1024, kMebibyte = 1024 * 1024;

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

const cpu::Topology kFourCpus = Caches(4, 32 * kKibibyte, kMebibyte, 36 * kMebibyte);

TEST(ChooseWorkingSets, FitTheirLevelAndNotTheNearerOne) {
  const auto chosen = ChooseWorkingSets(kFourCpus, {0, 1}, 1e12);
  EXPECT_EQ(chosen.sets.at(Level::kL1).front().bytes, 16 * kKibibyte);
  EXPECT_EQ(chosen.sets.at(Level::kL2).front().bytes, 256 * kKibibyte);
  // Two threads share L3: 18 MiB each; sqrt(1 * 18) = 4.24 MiB.
  EXPECT_NEAR(chosen.sets.at(Level::kL3).front().bytes / kMebibyte, 4.243, 0.001);
  // All caches that two threads use, four times, over both.
  EXPECT_EQ(chosen.sets.at(Level::kDram).front().bytes,
            4 * (36 * kMebibyte + 2 * kMebibyte + 2 * 32 * kKibibyte) / 2);
  EXPECT_EQ(fakes::TextOf(chosen.sets.at(Level::kDram).front().reason), "");
  EXPECT_TRUE(chosen.absent.empty());
}

TEST(ChooseWorkingSets, SharesTheCachesOfSiblings) {
  cpu::Topology topology;
  for (const int cpu : {0, 1}) topology.cache_of_cpu[Level::kL1][cpu] = {0, 48 * kKibibyte};
  const auto chosen = ChooseWorkingSets(topology, {0, 1}, 1e12);
  EXPECT_EQ(chosen.sets.at(Level::kL1).front().bytes, 12 * kKibibyte);
}

TEST(ChooseWorkingSets, LeavesL3OutWhereItIsNotMuchMoreThanL2) {
  const auto topology = Caches(4, 32 * kKibibyte, kMebibyte, 7 * kMebibyte);
  const auto chosen = ChooseWorkingSets(topology, {0, 1, 2, 3}, 1e12);
  EXPECT_FALSE(chosen.sets.contains(Level::kL3));
  EXPECT_THAT(chosen.absent.at(Level::kL3), HasSubstr("less than twice"));
  // One thread has all 7 MiB: at least 3 x L2, so that L2 keeps nothing.
  const auto alone = ChooseWorkingSets(topology, {0}, 1e12);
  EXPECT_NEAR(alone.sets.at(Level::kL3).front().bytes / kMebibyte, 3, 1e-9);
}

TEST(ChooseWorkingSets, SaysWhenMemoryIsTooSmallForDram) {
  const auto topology = Caches(2, 32 * kKibibyte, 2 * kMebibyte, 480 * kMebibyte);
  const auto chosen = ChooseWorkingSets(topology, {0, 1}, 960 * kMebibyte);  // the caches have 484
  EXPECT_EQ(chosen.sets.at(Level::kDram).front().bytes, 240 * kMebibyte);
  EXPECT_THAT(fakes::TextOf(chosen.sets.at(Level::kDram).front().reason),
              HasSubstr("only 1.0 x the caches"));
}

TEST(ChooseWorkingSets, CountsTheLastLevelOfEverySocketInUse) {
  cpu::Topology topology;
  for (const int cpu : {0, 1}) topology.cache_of_cpu[Level::kL3][cpu] = {cpu, 10 * kMebibyte};
  const auto both = ChooseWorkingSets(topology, {0, 1}, 1e12);
  EXPECT_EQ(both.sets.at(Level::kDram).front().bytes, 40 * kMebibyte);  // 80 MiB over two threads
  const auto one = ChooseWorkingSets(topology, {1}, 1e12);
  EXPECT_EQ(one.sets.at(Level::kDram).front().bytes, 40 * kMebibyte);
}

TEST(ChooseWorkingSets, ToleratesMissingCaches) {
  const auto nothing = ChooseWorkingSets({}, {0}, std::nullopt);
  EXPECT_EQ(nothing.absent.size(), 3);
  EXPECT_EQ(nothing.sets.size(), 1);
  EXPECT_THAT(fakes::TextOf(nothing.sets.at(Level::kDram).front().reason),
              HasSubstr("no cache size is known"));
  const auto no_l3 = ChooseWorkingSets(Caches(1, 32 * kKibibyte, 256 * kKibibyte, 0), {0}, 1e12);
  EXPECT_TRUE(no_l3.absent.contains(Level::kL3));
  EXPECT_EQ(no_l3.sets.at(Level::kDram).front().bytes, 4 * (256 + 32) * kKibibyte);
}

TEST(ThreadShares, AreThoseOfEachThreadOnSharedCaches) {
  using Shares = std::map<Level, double>;
  const auto topology = Caches(4, 32 * kKibibyte, 0, 36 * kMebibyte);
  EXPECT_EQ(ThreadShares(topology, {0, 1}),
            (Shares{{Level::kL1, 32 * kKibibyte}, {Level::kL3, 18 * kMebibyte}}));
  EXPECT_TRUE(ThreadShares({}, {0}).empty());
}

std::vector<double> Kib(const std::vector<WorkingSet>& sets) {
  std::vector<double> sizes;
  for (const auto& set : sets) sizes.push_back(set.bytes / kKibibyte);
  return sizes;
}

TEST(ChooseWorkingSets, TriesSeveralSizesOfEachCache) {
  const auto chosen =
      ChooseWorkingSets(Caches(1, 32 * kKibibyte, kMebibyte, 36 * kMebibyte), {0}, 1e12);
  EXPECT_THAT(Kib(chosen.sets.at(Level::kL1)), ElementsAre(16, 8, 24));
  EXPECT_THAT(Kib(chosen.sets.at(Level::kL2)), ElementsAre(256, 512, 768));
  // sqrt(1 * 36) = 6 MiB, half of 36, 3 x 1.
  EXPECT_THAT(Kib(chosen.sets.at(Level::kL3)), ElementsAre(6 * 1024, 18 * 1024, 3 * 1024));
  EXPECT_EQ(chosen.sets.at(Level::kDram).size(), 1);
  EXPECT_EQ(chosen.largest_bytes, 4 * (37 * kMebibyte + 32 * kKibibyte));
}

// A quarter of this L2 is 64 KiB, less than twice the L1 of 48 KiB: L1 would serve a part.
TEST(ChooseWorkingSets, TakesNoSizeThatTheNearerCacheHelps) {
  const auto chosen = ChooseWorkingSets(Caches(1, 48 * kKibibyte, 256 * kKibibyte, 0), {0}, 1e12);
  EXPECT_THAT(Kib(chosen.sets.at(Level::kL2)), ElementsAre(128, 192));
}

TEST(NearerCacheReason, CatchesASetThatStaysInANearerCache) {
  EXPECT_THAT(fakes::TextOf(NearerCacheReason(kFourCpus, {0, 1}, Level::kL2, 16 * kKibibyte)),
              HasSubstr("arrays are 16 KiB and its share of L1 is 32 KiB"));
  EXPECT_THAT(fakes::TextOf(NearerCacheReason(kFourCpus, {0, 1}, Level::kL3, 768 * kKibibyte)),
              HasSubstr("L2"));
  // Two threads share L3: 18 MiB each.
  EXPECT_THAT(fakes::TextOf(NearerCacheReason(kFourCpus, {0, 1}, Level::kDram, 30 * kMebibyte)),
              HasSubstr("18 MiB"));
  EXPECT_EQ(fakes::TextOf(NearerCacheReason(kFourCpus, {0, 1}, Level::kDram, 72 * kMebibyte)), "");
  EXPECT_EQ(fakes::TextOf(NearerCacheReason(kFourCpus, {0, 1}, Level::kL2, 64 * kKibibyte)), "");
  EXPECT_EQ(fakes::TextOf(NearerCacheReason(kFourCpus, {0, 1}, Level::kL1, 1 * kKibibyte)), "");
}

TEST(NearerCacheReason, HasNoneAboutTheSetsThatAreChosen) {
  for (const auto& topology : {kFourCpus, Caches(4, 48 * kKibibyte, 2 * kMebibyte, 480 * kMebibyte),
                               Caches(4, 32 * kKibibyte, 256 * kKibibyte, 8 * kMebibyte)})
    for (const std::vector<int>& cpus : {std::vector<int>{0}, {0, 1}, {0, 1, 2, 3}})
      for (const auto& [level, sets] : ChooseWorkingSets(topology, cpus, 1e12).sets)
        for (const auto& set : sets)
          EXPECT_EQ(fakes::TextOf(NearerCacheReason(topology, cpus, level, set.bytes)), "")
              << set.how;
}

}  // namespace
}  // namespace dlroof::cpu_ceilings
