#include "baselines/cluster/cluster_file.h"

#include <gtest/gtest.h>

namespace dlroof::cluster {
namespace {

energy::Energy OfNode(double joules) {
  return {.joules = joules,
          .domains = {{"dram-0", joules / 4}, {"package-0", 3 * joules / 4}},
          .beside = {{"psys", 2 * joules}},
          .seconds = joules / 100,
          .window_seconds = 0.5,
          .calls = 30,
          .others_cpus = joules / 1000,
          .from = "powercap",
          .covers = "packages and DRAM"};
}

TEST(MergedEnergy, IsTheMedianOfNodes) {
  const auto merged = MergedEnergy({OfNode(8), OfNode(4), OfNode(6)});
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->joules, 6);
  EXPECT_FALSE(merged->ci95);  // three nodes are too few for 95 %
  EXPECT_EQ(merged->domains.at("dram-0"), 1.5);
  EXPECT_EQ(merged->beside.at("psys"), 12);
  EXPECT_EQ(merged->others_cpus, 0.008);
  EXPECT_EQ(merged->from, "powercap");
  // 6 values: their least and greatest.
  const auto six = MergedEnergy({OfNode(8), OfNode(4), OfNode(6), OfNode(7), OfNode(5), OfNode(9)});
  EXPECT_EQ(six->ci95, (std::pair(4.0, 9.0)));
}

TEST(MergedEnergy, NodesWithDifferentDomainsAreNotMerged) {
  auto without_dram = OfNode(4);
  without_dram.domains.erase("dram-0");
  EXPECT_FALSE(MergedEnergy({OfNode(4), without_dram}));
  auto perf = OfNode(4);
  perf.from = "perf";
  EXPECT_FALSE(MergedEnergy({OfNode(4), perf}));
  EXPECT_FALSE(MergedEnergy({}));
}

}  // namespace
}  // namespace dlroof::cluster
