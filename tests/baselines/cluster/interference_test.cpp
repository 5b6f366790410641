#include "baselines/cluster/interference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace dlroof::cluster {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

InterferedNode Node(std::size_t node, std::size_t noisy, double wall_over_clean = 1) {
  return {.node = node,
          .cpus = 2,
          .load = {},
          .seen = {.repetitions = 100, .noisy = noisy, .wall_over_clean = wall_over_clean}};
}

TEST(InterferenceFindings, AQuotaIsOneAlthoughTheSamplesLookWell) {
  std::vector<InterferedNode> nodes = {Node(0, 5), Node(1, 5), Node(2, 5)};
  EXPECT_THAT(InterferenceFindings(nodes), IsEmpty());
  nodes[1].load.quota_cpus = 0.5;
  const auto findings = InterferenceFindings(nodes);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].node, 1);
  EXPECT_EQ(findings[0].what, "quota");
  EXPECT_EQ(findings[0].verdict, NodeVerdict::kLimited);
  nodes[1].load.quota_cpus = 2;  // as many as its CPUs
  EXPECT_THAT(InterferenceFindings(nodes), IsEmpty());
  nodes[1].load.periods = 1000;
  nodes[1].load.throttled = 11;  // more than 1 %
  EXPECT_THAT(InterferenceFindings(nodes), SizeIs(1));
}

TEST(InterferenceFindings, NeighboursAndStealDisturbANode) {
  std::vector<InterferedNode> nodes = {Node(0, 10), Node(1, 10), Node(2, 55)};
  EXPECT_EQ(InterferenceFindings(nodes).at(0).what, "neighbours");
  nodes[2] = Node(2, 45);  // fewer than half
  EXPECT_THAT(InterferenceFindings(nodes), IsEmpty());
  nodes[2] = Node(2, 45, 1.3);
  EXPECT_EQ(InterferenceFindings(nodes).at(0).ratio, 1.3);
  nodes[2] = Node(2, 10);
  nodes[2].load.steal_share = 0.2;
  EXPECT_THAT(InterferenceFindings(nodes), IsEmpty());  // of an unknown time
  nodes[2].load.wall_seconds = 60;
  EXPECT_EQ(InterferenceFindings(nodes).at(0).what, "steal");
  nodes[0].load.steal_share = nodes[1].load.steal_share = 0.18;  // hosts are busy everywhere
  EXPECT_THAT(InterferenceFindings(nodes), IsEmpty());
  EXPECT_THAT(InterferenceFindings({Node(0, 90), Node(1, 0)}), IsEmpty());  // too few to compare
}

// A quota of half a CPU stops two threads for 75 of each 100 ms: of repetitions of 30 ms those that
// begin within 45 ms before the stop's begin or during it are noisy, at least (75 - 2) / 100. The
// others' shares scatter. The control group's file is not seen, as in a container.
TEST(InterferenceFindings, AHiddenQuotaOfHalfACpuIsFoundInAtLeast95Percent) {
  std::mt19937 source(1);
  std::uniform_real_distribution<> usual(0, 0.35);
  int found = 0, wrong = 0;
  constexpr int kClusters = 400;
  constexpr std::size_t kRepetitions = 360;
  for (int cluster = 0; cluster < kClusters; ++cluster) {
    std::vector<InterferedNode> nodes;
    for (std::size_t i = 0; i < 8; ++i) {
      std::binomial_distribution<std::size_t> noisy(kRepetitions, i == 3 ? 0.85 : usual(source));
      nodes.push_back(
          {.node = i,
           .cpus = 2,
           .load = {},
           .seen = {.repetitions = kRepetitions, .noisy = noisy(source), .wall_over_clean = {}}});
      nodes.back().seen.wall_over_clean = i == 3 ? 2 : 1.05;
    }
    const auto findings = InterferenceFindings(nodes);
    found += std::ranges::any_of(findings, [](const Finding& one) { return one.node == 3; });
    wrong += std::ranges::any_of(findings, [](const Finding& one) { return one.node != 3; });
  }
  EXPECT_GE(found, 0.95 * kClusters);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace dlroof::cluster
