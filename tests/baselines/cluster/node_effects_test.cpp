#include "baselines/cluster/node_effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counters/base/error.h"
#include "tests/baselines/cluster/fake_nodes.h"
#include "tests/fakes/refusal.h"

namespace dlroof::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

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

// --- Nodes measured at once and one by one ---

// Nodes a, b, ... with a time [s] for each benchmark n0, n1, ...
Cluster ClusterOf(const std::vector<std::vector<double>>& seconds) {
  Cluster cluster;
  for (std::size_t node = 0; node < seconds.size(); ++node)
    cluster.nodes.push_back({.facts = {.name = std::string(1, static_cast<char>('a' + node))}});
  for (std::size_t i = 0; i < seconds.front().size(); ++i) {
    record::Record record;
    record.name = "n" + std::to_string(i);
    auto& nodes = cluster.nodes_of.emplace_back();
    for (std::size_t node = 0; node < seconds.size(); ++node) {
      record.repetitions.push_back({.seconds = seconds[node][i]});
      nodes.push_back(node);
    }
    cluster.run.records.push_back(record);
  }
  return cluster;
}

TEST(OrderEffects, AreTheMedianRatiosTheLargestFirst) {
  const auto effects =
      OrderEffects(ClusterOf({{1, 2, 3}, {1.5, 2.2, 9}}), ClusterOf({{1, 2, 3}, {1, 2, 3}}));
  ASSERT_EQ(effects.size(), 2U);
  EXPECT_EQ(effects[0].node, 1);
  EXPECT_DOUBLE_EQ(effects[0].ratio, 1.5);
  EXPECT_EQ(effects[0].benchmarks, 3U);
  EXPECT_EQ(effects[0].worst, "n2");
  EXPECT_DOUBLE_EQ(effects[0].worst_ratio, 3);
  EXPECT_FALSE(effects[0].ci95) << "of three benchmarks";
  EXPECT_DOUBLE_EQ(effects[1].ratio, 1);
}

TEST(OrderEffects, HaveAnIntervalFromSixBenchmarksOn) {
  const auto effects =
      OrderEffects(ClusterOf({{1.1, 1.2, 1.3, 1.4, 1.5, 1.6}}), ClusterOf({{1, 1, 1, 1, 1, 1}}));
  ASSERT_TRUE(effects[0].ci95);
  EXPECT_DOUBLE_EQ(effects[0].ci95->first, 1.1);
  EXPECT_DOUBLE_EQ(effects[0].ci95->second, 1.6);
}

TEST(OrderEffects, LeaveOutWhatOneFileLacks) {
  const auto effects = OrderEffects(ClusterOf({{1, 2}, {1, 2}}), ClusterOf({{1}}));
  ASSERT_EQ(effects.size(), 1U);
  EXPECT_EQ(effects[0].benchmarks, 1U);
  auto other = ClusterOf({{1}});
  other.nodes[0].facts.name = "z";
  EXPECT_THAT(fakes::RefusalOf([&] { OrderEffects(ClusterOf({{1}}), other); }),
              HasSubstr("no node has a time of the same benchmark in both files"));
}

// --- Requirements ---

// The fakes have a DRAM roof of 10 B/s times the node's speed; n1 takes the node's seconds.
TEST(Requirements, NodesThatMissALimitAreNamed) {
  const auto cluster = Gathered({{"n1", 2, 1}, {"n2", 3, 1}, {"n3", 2, 0.5}});
  const auto limits = ParseRequirements(
      fmt::format(R"({{"roofs": {{"cpu.dram": 9}}, "times": {{"{}": 2.5}}}})", fakes::Name("n1")),
      "r.json");
  const auto unmet = UnmetOf(cluster, limits);
  ASSERT_THAT(unmet, SizeIs(2));
  EXPECT_EQ(unmet[0].node, 1);
  EXPECT_EQ(unmet[0].value, 3);
  EXPECT_EQ(unmet[1].what, "cpu.dram");
  EXPECT_EQ(TextOf(unmet[1], cluster), "n3: cpu.dram is 5.00 B/s, at least 9.00 B/s required");
  const auto absent = UnmetOf(cluster, ParseRequirements(R"({"times": {"gone": 1}})", "r.json"));
  ASSERT_THAT(absent, SizeIs(3));
  EXPECT_THAT(TextOf(absent[0], cluster), HasSubstr("gone was not measured"));
}

TEST(Requirements, OtherFilesAreRefused) {
  for (const char* text : {"[]", "{}", R"({"roofs": {}})", R"({"roof": {"cpu.dram": 1}})",
                           R"({"roofs": {"cpu.dram": -1}})", R"({"roofs": 3})"})
    EXPECT_THROW(ParseRequirements(text, "r.json"), BadInput) << text;
}

}  // namespace
}  // namespace dlroof::cluster
