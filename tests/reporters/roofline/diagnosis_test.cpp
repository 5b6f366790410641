#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reporters/roofline/trajectory.h"
#include "tests/fakes/trajectory_points.h"

namespace dlroof::roofline {
namespace {

using testing::HasSubstr;

// The largest cause between the first point and the last one.
struct Case {
  const char* name;
  std::vector<fakes::PointSpec> points;
  Cause cause;
  double of_points = 0;  // [percentage points] worked by hand, negative for a gain
  const char* along = "threads";
};

using fakes::Batch, fakes::kMemoryOne, fakes::kOne, fakes::MemoryTwo, fakes::Two, fakes::Unwatched,
    fakes::Watched, fakes::With, fakes::WithoutBytes;

std::vector<Case> Cases() {
  return {
      // 42 s of thread time in place of 22, all of it waits for bytes: 20 of 42.
      {"bandwidth shared", {kMemoryOne, MemoryTwo(21, 200, 10)}, Cause::kBandwidth, 47.6},
      {"bandwidth, unwatched",
       {Unwatched(kMemoryOne), Unwatched(MemoryTwo(21, 200, 10))},
       Cause::kBandwidth,
       47.6},
      {"cache lost", {kMemoryOne, MemoryTwo(21, 400, 20)}, Cause::kIntensity, 47.6},
      // 100 / 14 s x 2 = 14.29 s in place of 10, of 16.4.
      {"clock lowered",
       {kOne, {.threads = 2, .seconds = 8.2, .flops_rate = 14, .bytes_rate = 20}},
       Cause::kArithmetic,
       26.1},
      // Each second of 9 counts for two threads: 2 x 3 of 18.
      {"fork and join", {kOne, Watched(Two(9), {.fork_join = 3})}, Cause::kOverhead, 33.3},
      {"one thread works", {kOne, Watched(Two(9), {.serial = 3})}, Cause::kOverhead, 33.3},
      {"imbalance", {kOne, Watched(Two(9), {.imbalance = 3})}, Cause::kImbalance, 33.3},
      {"stolen", {kOne, Watched(Two(9), {.stolen = 3})}, Cause::kStolen, 33.3},
      // The second thread idles through all of 12 s: 12 of 24.
      {"one of two works", {kOne, Watched(Two(12), {.team = 1})}, Cause::kIdle, 50},
      // On one thread the call is busy for 12 s, on two threads for 18 s in all.
      {"threads slow each other", {kOne, Watched(Two(9), {.alone = 12})}, Cause::kSharing, 33.3},
      // 2 x 4 s in place of 2, of 2 x 10.
      {"functions",
       {Watched({.threads = 1, .seconds = 14}, {.functions = 2}),
        Watched(Two(10), {.functions = 4})},
       Cause::kFunctions,
       30},
      {"busy time grows", {kOne, Two(9)}, Cause::kUnexplained, 33.3},
      {"one point unwatched",
       {Unwatched(kOne), Watched(Two(9), {.fork_join = 3})},
       Cause::kUnexplained,
       33.3},
      {"no bytes, a lower clock",
       {WithoutBytes(kOne), WithoutBytes({.threads = 2, .seconds = 8.2, .flops_rate = 14})},
       Cause::kArithmetic,
       26.1},
      {"no bytes at one point",
       {WithoutBytes(kMemoryOne), MemoryTwo(21, 200, 10)},
       Cause::kUnexplained,
       47.6},
      {"no roofs of two",
       {kOne, With(Two(9), &fakes::PointSpec::no_roofs)},
       Cause::kUnexplained,
       33.3},
      // 2 of 18 are fork and join, 4 are unexplained.
      {"more is unexplained", {kOne, Watched(Two(9), {.fork_join = 1})}, Cause::kUnexplained, 22.2},
      // Bytes 200 -> 400, a byte 0.1 -> 0.125 thread seconds: 22.5 by bytes, 7.5 by rate, of 52.
      {"more bytes than rate", {kMemoryOne, MemoryTwo(26, 400, 16)}, Cause::kIntensity, 43.3},
      // 200 -> 240 byte, 0.1 -> 0.2 s: 6 by bytes, 22 by rate, of 50.
      {"more rate than bytes", {kMemoryOne, MemoryTwo(25, 240, 10)}, Cause::kBandwidth, 44},
      // 2.2 s of overhead in two components against 1.5 s of imbalance, x 2, of 21.4.
      {"overhead in two components",
       {kOne, Watched(Two(10.7), {.fork_join = 1, .serial = 1.2, .imbalance = 1.5})},
       Cause::kOverhead,
       20.6},
      // Arithmetic binds one thread (10 s) and bytes four (5 s, 20 of thread time): 10 of 22.
      {"bytes bind four",
       {{.threads = 1, .seconds = 10.5, .bytes = 100, .bytes_rate = 20},
        {.threads = 4, .seconds = 5.5, .bytes = 100, .flops_rate = 40, .bytes_rate = 20}},
       Cause::kBandwidth,
       45.5},
      // Overhead takes 8 of 18; the threads' busy time is shorter by 2.
      {"a gain beside the loss", {kOne, Watched(Two(9), {.fork_join = 4})}, Cause::kOverhead, 44.4},
      // 400 byte at one thread, 200 at two: 20 of 42 s of thread time are gained.
      {"more cache in all",
       {{.threads = 1, .seconds = 42, .bytes = 400}, MemoryTwo(11, 200, 20)},
       Cause::kIntensity,
       -47.6},
      // Each batch of 1 waits 5 s; a batch of 4 does so once: 3.75 of 10 s for 100 flop.
      {"overhead amortised",
       {Batch(1, 10, 100, 2, {.fork_join = 5}), Batch(4, 25, 400, 8, {.fork_join = 5})},
       Cause::kOverhead,
       -37.5,
       "batch"},
      // 400 byte (20 s) for 100 flop, then 640 byte (32 s) for 1600 (80 s): 20 -> 5 s for 100 flop.
      {"weights reused",
       {Batch(1, 21, 100, 400), Batch(16, 96, 1600, 640)},
       Cause::kIntensity,
       -71.4,
       "batch"},
      // Arithmetic takes 5 s and bytes 2 s of 10 s for 100 flop, then arithmetic all of 5 s.
      {"bytes of a level that does not bind",
       {Batch(1, 10, 100, 40), Batch(4, 20, 400, 40)},
       Cause::kUnexplained,
       -30,
       "batch"},
  };
}

Trajectory TrajectoryOf(const std::vector<fakes::PointSpec>& points, const char* along) {
  return Trajectories(fakes::RunOf(points), along, 1).at(0);
}

TEST(Loss, NamesTheLargestCauseWithItsNumber) {
  for (const auto& [name, points, cause, of_points, along] : Cases()) {
    const auto trajectory = TrajectoryOf(points, along);
    const auto loss = StepOf(trajectory, trajectory.points.front(), trajectory.points.back()).loss;
    EXPECT_EQ(Key(loss.Largest()), Key(cause)) << name;
    EXPECT_NEAR(100 * loss.Share(loss.by.at(cause)), of_points, 0.06) << name;
  }
}

TEST(DiagnosisText, ComparesTheLastPointWithTheFirst) {
  const auto text = [](const std::vector<fakes::PointSpec>& points, const char* along = "threads") {
    return DiagnosisText(TrajectoryOf(points, along));
  };
  EXPECT_EQ(text({kOne}), "one point only: no step to compare.");
  EXPECT_EQ(text({kOne, Two(6)}),
            "2 threads are 2.00x as fast as 1 thread, 100 % of ideal: the cost is the same within "
            "5 %.");
  // 12.4 s of thread time in place of 12: 3.2 % more.
  EXPECT_THAT(text({kOne, Two(6.2)}), HasSubstr("97 % of ideal: the cost is the same"));
  EXPECT_THAT(text({kMemoryOne, MemoryTwo(21, 200, 10)}),
              HasSubstr("52 % of ideal: 48 points are lost, 48 by bandwidth."));
  EXPECT_THAT(text({kOne, Two(9)}),
              HasSubstr("33 points are lost, and no measurement explains 33 of them."));
  EXPECT_EQ(text({Batch(1, 10, 100, 2, {.fork_join = 5}), Batch(4, 25, 400, 8, {.fork_join = 5})},
                 "batch"),
            "batch 4 has 1.60x the FLOP/s of batch 1: 38 points are gained, 38 by overhead.");
  EXPECT_THAT(
      text({With(Batch(1, 10, 100, 20), &fakes::PointSpec::measured), Batch(4, 40, 400, 80)},
           "batch"),
      HasSubstr("counted in different ways"));
  // Intervals of estimates are 0.8 to 1.1 of the time: 9.6 to 13.2 s, and 11.2 to 15.4 s of two
  // threads.
  EXPECT_EQ(text({With(kOne, &fakes::PointSpec::noisy),
                  With(Watched(Two(7), {.fork_join = 1}), &fakes::PointSpec::noisy)}),
            "~2 threads are 1.71x as fast as 1 thread, 86 % of ideal: 14 points are lost, 14 by "
            "overhead; the 95 % intervals of the times overlap.");
}

}  // namespace
}  // namespace dlroof::roofline
