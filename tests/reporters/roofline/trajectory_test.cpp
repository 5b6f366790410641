#include "reporters/roofline/trajectory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/fakes/refusal.h"
#include "tests/fakes/trajectory_points.h"

namespace dlroof::roofline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

fakes::PointSpec Point(int threads, double batch, double seconds) {
  return {.threads = threads,
          .seconds = seconds,
          .flops = 100 * batch,
          .flops_rate = 10.0 * threads,
          .bytes_rate = 10.0 * threads,
          .batch = batch};
}

// Batch 1 and 4, each on 1 and 2 threads, unsorted.
PlacedRun Cross() {
  return fakes::RunOf({Point(2, 1, 8), Point(2, 4, 24), Point(1, 4, 48), Point(1, 1, 12)});
}

TEST(Trajectories, AlongTheThreadsAreOnePerProblem) {
  const auto found = Trajectories(Cross());
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].along, "threads");
  EXPECT_EQ(found[0].name, "Conv2D/cpu/onednn/fwd/f32/n1c8h8w8k8r1s1");
  EXPECT_EQ(found[1].label, "n4c8h8w8k8r1s1");
  EXPECT_EQ(SharedName(found), "Conv2D/cpu/onednn/fwd/f32");
  EXPECT_EQ(found[0].points[0].record, 3u);
  EXPECT_EQ(found[0].points[1].record, 0u);
}

TEST(Trajectories, AlongASizeAreOnePerNumberOfThreads) {
  const auto found = Trajectories(Cross(), "batch");
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].name, "Conv2D/cpu/onednn/fwd/f32/n*c8h8w8k8r1s1/threads2");
  EXPECT_EQ(found[0].points[1].value, 4);
  EXPECT_EQ(ValueText(found[0], 4), "batch 4");
  // 400 flop in 24 s over 100 in 8.
  EXPECT_DOUBLE_EQ(found[0].steps[0].rate_ratio, 400 / 24.0 / (100 / 8.0));
  EXPECT_FALSE(found[0].steps[0].efficiency) << "defined along threads only";
}

// Batch 1 and 2 on 1 and 2 threads, batch 4 and 8 likewise, and one that fits neither.
TEST(Trajectories, WithABatchProportionalToThreadsAreWeakScaling) {
  const auto found = Trajectories(fakes::RunOf({Point(2, 2, 16), Point(1, 4, 40), Point(2, 8, 80),
                                                Point(1, 1, 10), Point(2, 3, 30)}),
                                  "weak");
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].along, "threads");
  EXPECT_EQ(found[0].per_thread, 1.0);
  EXPECT_EQ(found[1].per_thread, 4.0);
  EXPECT_EQ(found[0].name, "Conv2D/cpu/onednn/fwd/f32/n*c8h8w8k8r1s1, batch 1 a thread");
  EXPECT_EQ(found[0].points[0].record, 3u);
  EXPECT_EQ(found[0].points[1].record, 0u);
  // 200 flop in 16 s over 100 in 10, on twice the threads.
  EXPECT_DOUBLE_EQ(found[0].steps.at(0).rate_ratio, 200 / 16.0 / (100 / 10.0));
  EXPECT_NEAR(*found[0].steps[0].efficiency, std::log2(1.25), 1e-12);
  EXPECT_DOUBLE_EQ(found[1].steps.at(0).rate_ratio, 1);  // the second thread gives nothing
  EXPECT_FALSE(Trajectories(Cross())[0].per_thread);
}

TEST(Trajectories, OnOneNumberOfThreadsUseTheFirstParameterThatChanges) {
  EXPECT_EQ(Trajectories(fakes::RunOf({Point(2, 1, 8), Point(2, 4, 24)})).at(0).along, "batch");
  EXPECT_THAT(Trajectories(fakes::RunOf({Point(2, 1, 8)})), IsEmpty());
  EXPECT_THAT(fakes::RefusalOf([] { Trajectories(Cross(), "colour"); }),
              HasSubstr("no such parameter"));
}

// log2(12 / 8) / log2(2).
TEST(Trajectories, EfficiencyIsTheSlopeOverTheThreads) {
  const auto step = Trajectories(Cross())[0].steps.at(0);
  EXPECT_DOUBLE_EQ(step.rate_ratio, 1.5);
  EXPECT_NEAR(*step.efficiency, 0.58496, 1e-5);
}

TEST(Trajectories, PlaceEachPointUnderTheRoofOfItsThreads) {
  const auto points = Trajectories(Cross())[0].points;
  EXPECT_NEAR(*points[0].fraction, 10.0 / 12, 1e-6) << "100 flop at 10 flop/s";
  EXPECT_NEAR(*points[1].fraction, 5.0 / 8, 1e-6) << "at 20 flop/s";
  EXPECT_DOUBLE_EQ(*points[0].intensity, 5);
}

TEST(Trajectories, OfRecordsWithoutRoofsHaveOnlyTimes) {
  auto bare = Point(1, 1, 12);
  bare.no_roofs = true;
  const auto found = Trajectories(fakes::RunOf({bare, Point(2, 1, 8)}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_FALSE(found[0].level);
  EXPECT_FALSE(found[0].points[0].fraction);
  EXPECT_DOUBLE_EQ(found[0].steps[0].rate_ratio, 1.5);
}

TEST(StepText, IsTheLargestCauseOfAStep) {
  const auto trajectory = Trajectories(fakes::RunOf({fakes::kOne,
                                                     fakes::Two(6),
                                                     {.threads = 4,
                                                      .seconds = 6,
                                                      .flops_rate = 40,
                                                      .bytes_rate = 40,
                                                      .parts = fakes::PartSpec{.imbalance = 3}}}))
                              .front();
  ASSERT_EQ(trajectory.steps.size(), 2u);
  EXPECT_EQ(StepText(trajectory.steps[0]), "");
  EXPECT_EQ(StepText(trajectory.steps[1]), "imbalance +50") << "4 x 3 of 4 x 6 s";
}

CostFacts RandomFacts(std::mt19937& random) {
  std::uniform_real_distribution<double> some(0.1, 10);
  std::uniform_int_distribution<int> threads(1, 64);
  CostFacts facts{.seconds = some(random), .threads = threads(random), .work = some(random)};
  facts.team = std::uniform_int_distribution<int>(1, facts.threads)(random);
  facts.roof = RoofTime{.arithmetic_seconds = some(random)};
  for (const auto level : {Level::kL2, Level::kDram}) {
    facts.roof->memory_seconds[level] = some(random);
    facts.roof->bytes[level] = some(random);
  }
  facts.breakdown = Breakdown{.seconds = facts.seconds};
  for (const auto kind :
       {ComponentKind::kForkJoin, ComponentKind::kSerial, ComponentKind::kImbalance,
        ComponentKind::kStolen, ComponentKind::kFunctions})
    facts.breakdown->components.push_back({kind, some(random)});
  return facts;
}

TEST(LossOf, IsTheSumOfItsCausesAndAntisymmetric) {
  std::mt19937 random(7);
  for (int i = 0; i < 1000; ++i) {
    const auto one = RandomFacts(random), other = RandomFacts(random);
    const auto there = LossOf(one, other), back = LossOf(other, one);
    double sum = 0;
    for (const auto& [cause, change] : there.by) {
      sum += change;
      EXPECT_NEAR(change, -back.by.at(cause), 1e-9 * (there.before + there.after)) << Key(cause);
    }
    EXPECT_NEAR(sum, there.Total(), 1e-9 * (there.before + there.after));
  }
}

TEST(LossOf, AnUnchangedFactorIsNoCause) {
  std::mt19937 random(8);
  for (int i = 0; i < 200; ++i) {
    const auto before = RandomFacts(random);
    auto after = before;
    for (const auto level : {Level::kL2, Level::kDram}) {
      after.roof->bytes[level] *= 3;  // at the same rate
      after.roof->memory_seconds[level] *= 3;
    }
    const auto loss = LossOf(before, after);
    EXPECT_EQ(loss.by.at(Cause::kArithmetic), 0);
    EXPECT_NEAR(loss.by.at(Cause::kBandwidth), 0, 1e-12 * loss.before);
    EXPECT_GE(loss.by.at(Cause::kIntensity), 0);
    EXPECT_EQ(loss.by.at(Cause::kOverhead), 0);
  }
}

// max(arithmetic 4, 2 byte x 1 s) becomes max(6, 4 x 3) = 12. The cost after each factor's change,
// from 4 on, in all orders of A arithmetic, B bytes and R rate: ABR 6 6 12, ARB 6 6 12, BAR 4 6 12,
// BRA 4 12 12, RAB 6 6 12, RBA 6 12 12.
TEST(LossOf, DividesTheRoofByShapleyValues) {
  CostFacts before{.seconds = 20, .roof = RoofTime{.arithmetic_seconds = 4}};
  before.roof->memory_seconds[Level::kDram] = 2;
  before.roof->bytes[Level::kDram] = 2;
  CostFacts after{.seconds = 28, .roof = RoofTime{.arithmetic_seconds = 6}};
  after.roof->memory_seconds[Level::kDram] = 12;
  after.roof->bytes[Level::kDram] = 4;
  const auto loss = LossOf(before, after);
  EXPECT_DOUBLE_EQ(loss.by.at(Cause::kArithmetic), (2 + 2 + 2 + 0 + 0 + 0) / 6.0);
  EXPECT_DOUBLE_EQ(loss.by.at(Cause::kIntensity), (0 + 6 + 0 + 0 + 6 + 6) / 6.0);
  EXPECT_DOUBLE_EQ(loss.by.at(Cause::kBandwidth), (6 + 0 + 6 + 8 + 2 + 2) / 6.0);
  EXPECT_NEAR(loss.by.at(Cause::kUnexplained), 0, 1e-12);
}

}  // namespace
}  // namespace dlroof::roofline
