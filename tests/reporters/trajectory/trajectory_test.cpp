#include "reporters/trajectory/trajectory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reporters/trajectory/diagnosis.h"
#include "tests/fakes/refusal.h"
#include "tests/fakes/trajectory_points.h"

namespace dlroof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

PointSpec Point(int threads, double batch, double seconds) {
  return {.threads = threads,
          .seconds = seconds,
          .flops = 100 * batch,
          .flops_rate = 10.0 * threads,
          .bytes_rate = 10.0 * threads,
          .batch = batch};
}

// Batch 1 on 1 and 2 threads, batch 4 on the same, in no order.
PlacedRun Cross() {
  return RunOf({Point(2, 1, 8), Point(2, 4, 24), Point(1, 4, 48), Point(1, 1, 12)});
}

TEST(Trajectories, RunAlongTheThreadsOfEachProblem) {
  const auto found = Trajectories(Cross());
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].along, "threads");
  EXPECT_EQ(found[0].name, "Conv2D/cpu/onednn/fwd/f32/n1c8h8w8k8r1s1");
  EXPECT_EQ(found[1].label, "n4c8h8w8k8r1s1");
  EXPECT_EQ(SharedName(found), "Conv2D/cpu/onednn/fwd/f32");
  EXPECT_EQ(found[0].points[0].record, 3u);
  EXPECT_EQ(found[0].points[1].record, 0u);
}

TEST(Trajectories, RunAlongASizeOnEachNumberOfThreads) {
  const auto found = Trajectories(Cross(), "batch");
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].name, "Conv2D/cpu/onednn/fwd/f32/n*c8h8w8k8r1s1/threads2");
  EXPECT_EQ(found[0].points[1].value, 4);
  EXPECT_EQ(ValueText(found[0], 4), "batch 4");
  // 400 flop in 24 s over 100 in 8.
  EXPECT_DOUBLE_EQ(found[0].steps[0].rate_ratio, 400 / 24.0 / (100 / 8.0));
  EXPECT_FALSE(found[0].steps[0].efficiency) << "a size is no concurrency";
}

// Batch 1 and 2 on 1 and 2 threads, batch 4 and 8 on the same, and one that belongs to neither.
TEST(Trajectories, AlongThreadsWithABatchThatGrowsAreWeakScaling) {
  const auto found = Trajectories(
      RunOf({Point(2, 2, 16), Point(1, 4, 40), Point(2, 8, 80), Point(1, 1, 10), Point(2, 3, 30)}),
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

TEST(Trajectories, WithoutThreadsTakeTheFirstParameterThatChanges) {
  EXPECT_EQ(Trajectories(RunOf({Point(2, 1, 8), Point(2, 4, 24)})).at(0).along, "batch");
  EXPECT_THAT(Trajectories(RunOf({Point(2, 1, 8)})), IsEmpty());
  EXPECT_THAT(RefusalOf([] { Trajectories(Cross(), "colour"); }), HasSubstr("no such parameter"));
}

// log2(12 / 8) / log2(2).
TEST(Trajectories, EfficiencyIsTheSlopeOverTheThreads) {
  const auto step = Trajectories(Cross())[0].steps.at(0);
  EXPECT_DOUBLE_EQ(step.rate_ratio, 1.5);
  EXPECT_NEAR(*step.efficiency, 0.58496, 1e-5);
  EXPECT_DOUBLE_EQ(*step.intensity_ratio, 1);
}

TEST(Trajectories, EachPointStandsUnderTheRoofOfItsThreads) {
  const auto points = Trajectories(Cross())[0].points;
  EXPECT_NEAR(*points[0].fraction, 10.0 / 12, 1e-6) << "100 flop at 10 flop/s";
  EXPECT_NEAR(*points[1].fraction, 5.0 / 8, 1e-6) << "at 20 flop/s";
  EXPECT_DOUBLE_EQ(*points[0].intensity, 5);
}

TEST(Trajectories, OfRecordsWithoutRoofsKnowTheirTimesAlone) {
  auto bare = Point(1, 1, 12);
  bare.no_roofs = true;
  const auto found = Trajectories(RunOf({bare, Point(2, 1, 8)}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_FALSE(found[0].level);
  EXPECT_FALSE(found[0].points[0].fraction);
  EXPECT_DOUBLE_EQ(found[0].steps[0].rate_ratio, 1.5);
}

TEST(StepText, IsTheLargestCauseOfAStep) {
  const auto trajectory = Trajectories(RunOf({kOne,
                                              Two(6),
                                              {.threads = 4,
                                               .seconds = 6,
                                               .flops_rate = 40,
                                               .bytes_rate = 40,
                                               .parts = PartSpec{.imbalance = 3}}}))
                              .front();
  ASSERT_EQ(trajectory.steps.size(), 2u);
  EXPECT_EQ(StepText(trajectory.steps[0]), "");
  EXPECT_EQ(StepText(trajectory.steps[1]), "imbalance +50") << "4 x 3 of 4 x 6 s";
}

}  // namespace
}  // namespace dlroof
