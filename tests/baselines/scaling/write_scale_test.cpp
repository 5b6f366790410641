#include "baselines/scaling/write_scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlroof::scaling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ScaleRow Row(int nodes, double samples_per_second) {
  return {.nodes = nodes, .samples_per_second_bucketed = samples_per_second};
}

ScaleReport Report(std::optional<NodePrice> price, std::optional<NodePrice> theirs = std::nullopt) {
  return {.where = "",
          .network = {},
          .currency = "USD",
          .price = std::move(price),
          .their_price = std::move(theirs)};
}

ScaleCase Case() {
  ScaleCase one;
  one.steps.model = "m";
  one.steps.type = "f32";
  one.steps.library = "onednn";
  one.batch = 16;
  one.weak = {Row(1, 100), Row(2, 200), Row(4, 250)};
  return one;
}

// A million samples at 100 per second take 10,000 s. 3.6 USD an hour are 0.001 USD a second: 10 USD
// on one node, 10 on two (5,000 s each), 16 on four (4,000 s each).
TEST(CostLines, AMillionSamplesTakeTimeAndMoney) {
  const auto lines = CostLines(Case(), Report(NodePrice{3.6, "3.6 USD per node and hour"}));
  ASSERT_EQ(lines.size(), 1);
  EXPECT_EQ(lines[0].title, "m f32 onednn, weak, 16 per node");
  ASSERT_EQ(lines[0].points.size(), 3);
  EXPECT_DOUBLE_EQ(lines[0].points[0].seconds, 10000);
  EXPECT_DOUBLE_EQ(lines[0].points[0].cost, 10);
  EXPECT_DOUBLE_EQ(lines[0].points[1].cost, 10);
  EXPECT_DOUBLE_EQ(lines[0].points[2].cost, 16);
  // Two nodes are as cheap as one, and faster.
  EXPECT_FALSE(lines[0].points[0].best);
  EXPECT_TRUE(lines[0].points[1].best);
  EXPECT_TRUE(lines[0].points[2].best);
  EXPECT_THAT(CostNotes(Case(), Report(NodePrice{3.6, ""})),
              ElementsAre(HasSubstr("cheapest 10.0 USD in 10.0 ks on 1 node; fastest 16.0 USD in "
                                    "4.00 ks on 4 nodes")));
}

// One node of theirs makes 1,000 samples per second at 9 USD an hour: 1,000 s, 2.5 USD.
TEST(CostLines, TheOtherClusterMayBeFasterAndCheaper) {
  auto one = Case();
  one.goal = ScaleGoal{.batch = 32, .where = "", .library = "cudnn", .network = ""};
  one.goal->theirs_weak = {Row(1, 1000)};
  const auto lines = CostLines(one, Report(NodePrice{3.6, ""}, NodePrice{9, ""}));
  ASSERT_EQ(lines.size(), 2);
  EXPECT_EQ(lines[1].title, "other cluster: m f32 cudnn, weak, 32 per node");
  EXPECT_DOUBLE_EQ(lines[1].points[0].cost, 2.5);
  EXPECT_TRUE(lines[1].points[0].best);
  for (const auto& point : lines[0].points) EXPECT_FALSE(point.best);
}

TEST(CostLines, WithoutAPriceThereAreNone) {
  EXPECT_THAT(CostLines(Case(), Report(std::nullopt)), IsEmpty());
  EXPECT_THAT(CostNotes(Case(), Report(std::nullopt)), IsEmpty());
}

TEST(DevicePrice, IsANodesOverItsDevices) {
  const cluster::Prices prices{
      .currency = "USD",
      .kinds = {{.name = "GPU",
                 .fingerprint = "",
                 .per_node_hour = 24,
                 .devices = 8,
                 .how = "24 USD per node and hour"},
                {.name = "CPU", .fingerprint = "", .per_node_hour = 2, .how = "2"}}};
  machine::Machine gpu, cpu;
  gpu.name = "some GPU";
  cpu.name = "some CPU";
  EXPECT_DOUBLE_EQ(DevicePrice(prices, {gpu}, 1)->per_hour, 3);
  EXPECT_EQ(DevicePrice(prices, {gpu}, 1)->how, "24 USD per node and hour, of 8 devices");
  EXPECT_DOUBLE_EQ(DevicePrice(prices, {cpu}, 1)->per_hour, 2);
  EXPECT_DOUBLE_EQ(DevicePrice(prices, {cpu}, 4)->per_hour, 0.5);
  EXPECT_FALSE(DevicePrice(prices, {machine::Machine()}, 1));
  EXPECT_FALSE(DevicePrice(prices, {}, 1));
}

}  // namespace
}  // namespace dlroof::scaling
