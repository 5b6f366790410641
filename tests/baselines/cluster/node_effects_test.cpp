#include "baselines/cluster/node_effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::cluster {
namespace {

using testing::HasSubstr;

// Nodes a, b, ... with a time [s] for each benchmark n0, n1, ...
Cluster ClusterOf(const std::vector<std::vector<double>>& seconds) {
  Cluster cluster;
  for (std::size_t node = 0; node < seconds.size(); ++node)
    cluster.nodes.push_back({.name = std::string(1, static_cast<char>('a' + node))});
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
  EXPECT_EQ(effects[0].node, "b");
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
  other.nodes[0].name = "z";
  EXPECT_THAT(fakes::RefusalOf([&] { OrderEffects(ClusterOf({{1}}), other); }),
              HasSubstr("no node has the time of a benchmark in both files"));
}

}  // namespace
}  // namespace dlroof::cluster
