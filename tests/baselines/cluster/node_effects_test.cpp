#include "baselines/cluster/node_effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/baselines/cluster/fake_nodes.h"

namespace dlroof::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(RevisitOf, NamesSuspectsAndControls) {
  const auto revisit = RevisitOf(Gathered(LastNodeIsSlower()), {.controls = 3});
  ASSERT_EQ(revisit.suspects.size(), 1);
  EXPECT_EQ(revisit.suspects[0].node, 5);
  EXPECT_THAT(revisit.nodes, ElementsAre(0, 1, 2, 5));
}

TEST(AddFindings, WithoutFurtherVisitsASlowNodeIsASuspect) {
  auto cluster = Gathered(LastNodeIsSlower());
  AddFindings({}, {}, cluster);
  ASSERT_EQ(cluster.findings.size(), 1);
  EXPECT_EQ(cluster.findings[0].verdict, NodeVerdict::kSuspect);
}

TEST(AddFindings, FourNodesAreTooFewForFindings) {
  auto nodes = LastNodeIsSlower();
  nodes.erase(nodes.begin(), nodes.begin() + 2);
  auto cluster = Gathered(nodes);
  AddFindings({}, {}, cluster);
  EXPECT_TRUE(cluster.findings.empty());
  EXPECT_THAT(TableOf(cluster), HasSubstr("fewer than 5 nodes of a kind are too few to tell"));
}

// --- Roofs ---

// Six nodes, the last one's roofs at `speed` of the others'.
std::vector<FakeNode> LastHasLowerRoofs(double speed) {
  std::vector<FakeNode> nodes;
  for (int i = 1; i <= 6; ++i) nodes.push_back({fmt::format("n{}", i), 2, i == 6 ? speed : 1});
  return nodes;
}

std::vector<std::string> NamesOf(const std::vector<RowGroup>& groups) {
  std::vector<std::string> names;
  for (const auto& group : groups) names.push_back(group.name);
  return names;
}

std::vector<std::string> WhatIsSlow(const Cluster& cluster) {
  std::vector<std::string> what;
  for (const auto& finding : cluster.findings) what.push_back(finding.what);
  return what;
}

TEST(GroupsOf, EachRoofIsOneByItself) {
  EXPECT_THAT(NamesOf(GroupsOf(Gathered(LastHasLowerRoofs(1)))),
              ElementsAre("all", "cpu.dram", "cpu.fp32.vector"));
}

TEST(GroupsOf, ThreeRoofsAreAGroup) {
  auto cluster = Gathered(LastHasLowerRoofs(1));
  for (auto& node : cluster.nodes) node.roofs["cpu.launch"] = 1;
  const auto groups = GroupsOf(cluster);
  EXPECT_THAT(NamesOf(groups),
              ElementsAre("all", "ceilings", "cpu.dram", "cpu.fp32.vector", "cpu.launch"));
  EXPECT_THAT(groups[1].rows, ElementsAre(2, 3, 4));
}

// A roof that was low only in the first visit is not confirmed.
TEST(AddFindings, FiveVisitsDecideAboutALowRoof) {
  for (const double later : {0.8, 1.0}) {
    auto cluster = Gathered(LastHasLowerRoofs(0.8));
    AddFindings(std::vector(5, VisitedOnceMore(LastHasLowerRoofs(later))), {}, cluster);
    EXPECT_THAT(WhatIsSlow(cluster), ElementsAre("cpu.dram", "cpu.fp32.vector"));
    EXPECT_EQ(cluster.findings[0].verdict,
              later < 1 ? NodeVerdict::kSlow : NodeVerdict::kNotConfirmed);
    EXPECT_NEAR(cluster.findings[0].ratio, 1 / later, 1e-9);
    EXPECT_EQ(cluster.findings[0].node, 5);
  }
}

}  // namespace
}  // namespace dlroof::cluster
