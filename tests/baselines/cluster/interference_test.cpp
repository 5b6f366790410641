#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "baselines/cluster/node_effects.h"

namespace dlroof::cluster {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

ClusterNode Node(std::size_t noisy, double wall_over_clean = 1, std::size_t repetitions = 100) {
  ClusterNode node;
  node.facts.cpus_specified = 2;
  node.interference = {repetitions, noisy, wall_over_clean};
  return node;
}

std::vector<Finding> Findings(const std::vector<ClusterNode>& nodes) {
  std::vector<std::size_t> indices(nodes.size());
  std::iota(indices.begin(), indices.end(), 0);
  return InterferenceFindings(nodes, indices);
}

TEST(InterferenceFindings, AQuotaIsOneAlthoughTheSamplesLookWell) {
  std::vector<ClusterNode> nodes = {Node(5), Node(5), Node(5)};
  EXPECT_THAT(Findings(nodes), IsEmpty());
  nodes[1].facts.load.quota_cpus = 0.5;
  const auto findings = Findings(nodes);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].node, 1);
  EXPECT_EQ(findings[0].what, "quota");
  EXPECT_EQ(findings[0].verdict, NodeVerdict::kLimited);
  nodes[1].facts.load.quota_cpus = 2;  // as many as its CPUs
  EXPECT_THAT(Findings(nodes), IsEmpty());
  nodes[1].facts.load.periods = 1000;
  nodes[1].facts.load.throttled = 11;  // more than 1 %
  EXPECT_THAT(Findings(nodes), SizeIs(1));
}

TEST(InterferenceFindings, NeighboursAndStealDisturbANode) {
  std::vector<ClusterNode> nodes = {Node(10), Node(10), Node(55)};
  EXPECT_EQ(Findings(nodes).at(0).what, "neighbours");
  nodes[2] = Node(45);  // fewer than half
  EXPECT_THAT(Findings(nodes), IsEmpty());
  nodes[2] = Node(45, 1.3);
  EXPECT_EQ(Findings(nodes).at(0).ratio, 1.3);
  nodes[2] = Node(10);
  nodes[2].facts.load.steal_share = 0.2;
  EXPECT_THAT(Findings(nodes), IsEmpty());  // of an unknown time
  nodes[2].facts.load.wall_seconds = 60;
  EXPECT_EQ(Findings(nodes).at(0).what, "steal");
  nodes[0].facts.load.steal_share = nodes[1].facts.load.steal_share =
      0.18;  // hosts are busy everywhere
  EXPECT_THAT(Findings(nodes), IsEmpty());
  EXPECT_THAT(Findings({Node(90), Node(0)}), IsEmpty());  // too few to compare
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
    std::vector<ClusterNode> nodes;
    for (std::size_t i = 0; i < 8; ++i) {
      std::binomial_distribution<std::size_t> noisy(kRepetitions, i == 3 ? 0.85 : usual(source));
      nodes.push_back(Node(noisy(source), i == 3 ? 2 : 1.05, kRepetitions));
    }
    const auto findings = Findings(nodes);
    found +=
        std::ranges::any_of(findings, [](const Finding& finding) { return finding.node == 3; });
    wrong +=
        std::ranges::any_of(findings, [](const Finding& finding) { return finding.node != 3; });
  }
  EXPECT_GE(found, 0.95 * kClusters);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace dlroof::cluster
