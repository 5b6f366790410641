#include "baselines/scale/scaling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "baselines/scale/write_scale.h"

namespace dlroof::scaling {
namespace {

using testing::HasSubstr;

cluster::Network NetworkOf(double latency, double rate) {
  return {.name = "", .pieces = {{std::nullopt, latency, rate}}};
}

// At 4 samples two layers of 1 + 2 s, 8 and 4 bytes; at 8 samples they take twice as long.
MeasuredSteps TwoLayers() {
  MeasuredSteps steps{.model = "m", .type = "f32", .library = "l", .layers = 2, .timed = 2};
  steps.at[4] = {{1, 2, 8}, {1, 2, 4}};
  steps.at[8] = {{2, 4, 8}, {2, 4, 4}};
  return steps;
}

// Ring of 2 nodes, no latency, 1 byte/s: 12 bytes take 12 s, 4 and 8 by themselves 4 and 8.
TEST(SecondsOfStep, ByHand) {
  const auto steps = TwoLayers();
  const StepRules rules{.bucket_bytes = 4, .algorithm = cluster::Allreduce::kRing};
  const auto step = SecondsOfStep(steps.at.at(4), NetworkOf(0, 1), 2, 1, rules);
  EXPECT_EQ(step.compute, 6);
  EXPECT_EQ(step.allreduce, 12);
  EXPECT_EQ(step.none, 18);
  EXPECT_EQ(step.full, 12);
  // Forward 2 s, last layer's gradients at 4 s, summed up at 8 s; first one's from then on: 16 s.
  EXPECT_EQ(step.bucketed, 16);
  // A bucket that never fills up is one allreduce at the end.
  const StepRules large{.bucket_bytes = 100, .algorithm = cluster::Allreduce::kRing};
  EXPECT_EQ(SecondsOfStep(steps.at.at(4), NetworkOf(0, 1), 2, 1, large).bucketed, 18);
}

TEST(SecondsOfStep, OneNodeTakesTheMeasuredTime) {
  const auto step = SecondsOfStep(TwoLayers().at.at(4), NetworkOf(1, 1), 1, 1, {});
  EXPECT_EQ(step.none, 6);
  EXPECT_EQ(step.bucketed, 6);
  EXPECT_EQ(step.full, 6);
}

TEST(SecondsOfStep, WithInfiniteBandwidthTheSlowestNodeIsLeft) {
  const auto step = SecondsOfStep(TwoLayers().at.at(4), NetworkOf(1e-15, 1e30), 64, 1.5, {});
  for (const double seconds : {step.none, step.bucketed, step.full}) EXPECT_NEAR(seconds, 9, 1e-9);
}

TEST(SecondsOfStep, IsNeverBelowComputingAndTheBound) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> unit(0.01, 1);
  for (int round = 0; round < 300; ++round) {
    std::vector<StepLayer> layers(1 + random() % 20);
    for (auto& layer : layers) layer = {unit(random), 2 * unit(random), 1e6 * unit(random)};
    const auto network = NetworkOf(1e-4 * unit(random), 1e7 * unit(random));
    const int nodes = 1 + static_cast<int>(random() % 300);
    const auto step = SecondsOfStep(layers, network, nodes, 1 + unit(random),
                                    {.bucket_bytes = 3e6 * unit(random)});
    EXPECT_GE(step.full, std::max(step.compute, step.bound) * (1 - 1e-12));
    EXPECT_GE(step.bucketed, step.full * (1 - 1e-12));
    EXPECT_GE(step.none, step.full);
  }
}

// Two nodes have times 1 and 3. All of n draws are 1 with probability 2^-n.
TEST(ExpectedLargest, GoesFromTheMeanToTheLargest) {
  EXPECT_EQ(ExpectedLargest({3, 1}, 1), 2);
  EXPECT_EQ(ExpectedLargest({3, 1}, 2), 2.5);
  EXPECT_NEAR(ExpectedLargest({3, 1}, 1000), 3, 1e-12);
}

TEST(LayersAt, LiesBetweenMeasuredBatchesAndNeverBeyond) {
  const auto steps = TwoLayers();
  EXPECT_EQ(LayersAt(steps, 6)->at(0).forward_seconds, 1.5);
  EXPECT_EQ(LayersAt(steps, 6)->at(1).backward_seconds, 3);
  EXPECT_EQ(LayersAt(steps, 8)->at(0).forward_seconds, 2);
  EXPECT_FALSE(LayersAt(steps, 3));
  EXPECT_FALSE(LayersAt(steps, 9));
}

TEST(WeakScaling, MoreNodesNeverTrainMoreSamplesPerNode) {
  const auto steps = TwoLayers();
  const auto network = NetworkOf(0.01, 10);
  const ScaledCluster cluster{&steps, &network, {0.9, 1, 1.1}, {}};
  std::vector<int> powers;
  for (int n = 1; n <= 4096; n *= 2) powers.push_back(n);
  const auto rows = WeakScaling(cluster, 4, powers);
  ASSERT_EQ(rows.size(), 13);
  EXPECT_NEAR(rows[0].step.bucketed, 6, 1e-12);  // the mean of the three nodes
  EXPECT_NEAR(rows.back().step.compute, 6.6, 1e-9);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_LE(rows[i].samples_per_second_full / rows[i].nodes,
              rows[i - 1].samples_per_second_full / rows[i - 1].nodes);
    EXPECT_LE(*rows[i].efficiency, *rows[i - 1].efficiency);
  }
  EXPECT_TRUE(WeakScaling(cluster, 16, {1}).empty());
}

// 8 samples: one node has 8, two have 4 each; four would have 2, which nobody measured.
TEST(StrongScaling, HasOnlyNodesWhoseBatchesWereMeasured) {
  const auto steps = TwoLayers();
  const auto network = NetworkOf(1e-15, 12);
  const auto rows = StrongScaling({&steps, &network, {}, {}}, 8, {1, 2, 4});
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].step.none, 12);
  EXPECT_EQ(rows[1].batch, 4);
  EXPECT_NEAR(rows[1].step.none, 7, 1e-9);  // 6 s and 12 bytes at 12 byte/s
  EXPECT_NEAR(*rows[1].efficiency, 12.0 / 2 / 7, 1e-9);
}

// Ring of many nodes: 24 bytes at 2 byte/s are 12 s; 1.5 s a sample: 8 samples take as long.
TEST(HidingBatch, IsWhereComputingTakesAsLong) {
  const auto steps = TwoLayers();
  const auto network = NetworkOf(1, 2);
  EXPECT_EQ(*HidingBatch({&steps, &network, {}, {}}, 4), 8);
}

TEST(WeakBreakEven, IsTheLeastNumberOfNodes) {
  const auto steps = TwoLayers();
  const auto fast = NetworkOf(1e-15, 1e30), slow = NetworkOf(1e-15, 12);
  // 4 samples in 6 s: 3 nodes make 2 a second.
  EXPECT_EQ(WeakBreakEven({&steps, &fast, {}, {}}, 4, 2 - 1e-9, Overlap::kNone).nodes, 3);
  // With the network 2 (n-1)/n s more: 3 nodes 12 / 7.3, 4 nodes 16 / 7.5.
  EXPECT_EQ(WeakBreakEven({&steps, &slow, {}, {.algorithm = cluster::Allreduce::kRing}}, 4, 2 - 1e-9,
                          Overlap::kNone)
                .nodes,
            4);
  const auto never = WeakBreakEven({&steps, &fast, {}, {}}, 4, 1e9, Overlap::kFull);
  EXPECT_THAT(never.why, HasSubstr("never up to 65536 nodes"));
}

TEST(StrongBreakEven, FindsTheNodesOrTheFloorOrSaysWhatIsMissing) {
  const auto steps = TwoLayers();
  const auto fast = NetworkOf(1e-15, 1e30), slow = NetworkOf(1e-15, 1);
  EXPECT_EQ(StrongBreakEven({&steps, &fast, {}, {}}, 8, 6.1, Overlap::kNone).nodes, 2);
  // One node needs 12 s, and two need 12 s for 12 bytes alone.
  const auto never = StrongBreakEven({&steps, &slow, {}, {}}, 8, 6.1, Overlap::kFull);
  EXPECT_EQ(never.why, "never: the network's floor is 12.0 s");
  // Four nodes of 2 samples might do it; nobody measured 2.
  const auto unknown = StrongBreakEven({&steps, &fast, {}, {}}, 8, 3.1, Overlap::kNone);
  EXPECT_THAT(unknown.why, HasSubstr("cannot say: batch sizes per node from 4 to 8 were measured"));
}

}  // namespace
}  // namespace dlroof::scaling
