#include "baselines/scaling/scaling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "baselines/scaling/write_scale.h"
#include "tests/fakes/small_run.h"

namespace dlroof::scaling {
namespace {

using testing::ElementsAre;

// Problems of the tests: "n4x", a batch of 4 of the layer "x", which has 10 parameters.
std::optional<LayerShape> FakeShape(const record::Record& record) {
  if (record.op != "Conv2D" || record.problem.size() < 3) return std::nullopt;
  return LayerShape{record.problem[1] - '0', 10, record.problem.substr(2)};
}

record::Record Call(const std::string& direction, const std::string& problem, double seconds,
                    const std::string& type = "f32") {
  auto record = fakes::Measured("x", seconds);
  record.name = fmt::format("Conv2D/cpu/onednn/{}/{}/{}", direction, type, problem);
  record.options.clear();
  record::SplitName(record);
  record.repetitions.assign(9, {.seconds = seconds, .iterations = 3});
  return record;
}

cluster::Model ModelOf(const std::vector<std::pair<std::string, double>>& names) {
  return cluster::ModelFromNames("m", names, {});
}

std::vector<MeasuredSteps> Steps(const std::vector<record::Record>& records,
                                 const cluster::Model& model) {
  return StepsOf(roofline::PlaceRun(fakes::RunOf("r", records).file), model, FakeShape, {}, 4);
}

TEST(StepsOf, AddsUpPassesAndRepeatsLayers) {
  const auto model = ModelOf({{"Conv2D/cpu/onednn/fwd/f32/n4x", 2},
                              {"Conv2D/cpu/onednn/bwd_data/f32/n4x", 2},
                              {"Conv2D/cpu/onednn/bwd_weights/f32/n4x", 2},
                              {"Conv2D/cpu/onednn/fwd/f32/n4y", 1},
                              {"Conv2D/cpu/onednn/bwd_weights/f32/n4y", 1}});
  const auto all =
      Steps({Call("fwd", "n4x", 1), Call("bwd_data", "n4x", 2), Call("bwd_weights", "n4x", 3),
             Call("fwd", "n4y", 4), Call("bwd_weights", "n4y", 5)},
            model);
  ASSERT_EQ(all.size(), 1);
  const auto& layers = all[0].at.at(4);
  ASSERT_EQ(layers.size(), 3);
  EXPECT_EQ(layers[1].forward_seconds, 1);
  EXPECT_EQ(layers[1].backward_seconds, 5);
  EXPECT_EQ(layers[1].gradient_bytes, 40);
  EXPECT_EQ(layers[2].backward_seconds, 5);  // the model's first layer has no data gradient
  EXPECT_EQ(all[0].layers, 3);
  EXPECT_EQ(all[0].timed, 3);
}

TEST(StepsOf, BothGradientsMayBeOneCall) {
  const auto model = ModelOf({{"Conv2D/cpu/onednn/fwd/f32/n4x", 1},
                              {"Conv2D/cpu/onednn/bwd_data/f32/n4x", 1},
                              {"Conv2D/cpu/onednn/bwd_weights/f32/n4x", 1}});
  const auto all = Steps({Call("fwd", "n4x", 1), Call("bwd", "n4x", 7)}, model);
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].at.at(4)[0].backward_seconds, 7);
}

TEST(StepsOf, KeepsBatchesThatHaveTheSameLayersAndNamesTheMissing) {
  const auto model = ModelOf({{"Conv2D/cpu/onednn/fwd/f32/n4x", 1},
                              {"Conv2D/cpu/onednn/fwd/f32/n4y", 1},
                              {"Conv2D/cpu/onednn/fwd/f32/n4z", 3}});
  std::vector<record::Record> records;
  for (const char* problem : {"n2x", "n2y", "n4x", "n8x", "n8y"})
    for (const char* direction : {"fwd", "bwd"}) records.push_back(Call(direction, problem, 1));
  records.push_back(Call("fwd", "n2z", 1));          // no gradients
  records.push_back(Call("fwd", "n2x", 1, "bf16"));  // none at all of this type
  const auto all = Steps(records, model);
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].least_batch(), 2);
  EXPECT_EQ(all[0].most_batch(), 8);
  EXPECT_EQ(all[0].at.size(), 2);  // 4 lacks y
  EXPECT_EQ(all[0].timed, 2);
  EXPECT_EQ(all[0].layers, 5);
  EXPECT_THAT(all[0].missing, ElementsAre("n4z"));
}

TEST(StepsOf, WithoutGradientsThereIsNone) {
  const auto model = ModelOf({{"Conv2D/cpu/onednn/fwd/f32/n4x", 1}});
  EXPECT_TRUE(Steps({Call("fwd", "n4x", 1)}, model).empty());
}

}  // namespace
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
  // A bucket that is never full causes one allreduce at the end.
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

// 8 samples: one node has 8, two have 4 each; four would have 2, which was not measured.
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
  EXPECT_EQ(WeakBreakEven({&steps, &slow, {}, {.algorithm = cluster::Allreduce::kRing}}, 4,
                          2 - 1e-9, Overlap::kNone)
                .nodes,
            4);
  const auto never = WeakBreakEven({&steps, &fast, {}, {}}, 4, 1e9, Overlap::kFull);
  EXPECT_THAT(never.reason->text, HasSubstr("never up to 65536 nodes"));
}

TEST(StrongBreakEven, FindsTheNodesOrTheFloorOrSaysWhatIsMissing) {
  const auto steps = TwoLayers();
  const auto fast = NetworkOf(1e-15, 1e30), slow = NetworkOf(1e-15, 1);
  EXPECT_EQ(StrongBreakEven({&steps, &fast, {}, {}}, 8, 6.1, Overlap::kNone).nodes, 2);
  // One node needs 12 s, and two need 12 s just for 12 bytes.
  const auto never = StrongBreakEven({&steps, &slow, {}, {}}, 8, 6.1, Overlap::kFull);
  EXPECT_EQ(never.reason->text, "never: the network's floor is 12.0 s");
  // Four nodes with 2 samples each might be fast enough, but 2 was not measured.
  const auto unknown = StrongBreakEven({&steps, &fast, {}, {}}, 8, 3.1, Overlap::kNone);
  EXPECT_THAT(unknown.reason->text,
              HasSubstr("cannot say: batch sizes per node from 4 to 8 were measured"));
}

}  // namespace
}  // namespace dlroof::scaling
