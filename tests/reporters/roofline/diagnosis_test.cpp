#include "reporters/roofline/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/trajectory_points.h"

namespace dlroof::roofline {
namespace {

using testing::HasSubstr;

struct Case {
  std::string name;
  std::vector<fakes::PointSpec> points;
  Scaling scaling;
  std::optional<Cause> cause;
  double of_points = 0;   // [percentage points] worked by hand
  std::string says = {};  // part of the sentence
  std::string along = "threads";
};

// Rows for a loss, a gain, and ideal scaling.
Case Lost(std::string name, std::vector<fakes::PointSpec> points, Cause cause, double of_points,
          std::string says, std::string along = "threads") {
  return {std::move(name), std::move(points), Scaling::kLoss,  cause,
          of_points,       std::move(says),   std::move(along)};
}
Case Gained(std::string name, std::vector<fakes::PointSpec> points, Cause cause, double of_points,
            std::string says, std::string along = "threads") {
  return {std::move(name), std::move(points), Scaling::kGain,  cause,
          of_points,       std::move(says),   std::move(along)};
}
Case Ideal(std::string name, std::vector<fakes::PointSpec> points, std::string says,
           std::string along = "threads") {
  return {std::move(name), std::move(points), Scaling::kIdeal, {}, 0,
          std::move(says), std::move(along)};
}

std::vector<Case> Simple() {
  return {
      {"one point", {fakes::kOne}, Scaling::kOnePoint, {}, 0, "one point only"},
      Ideal("twice as fast", {fakes::kOne, fakes::Two(6)}, "scaling is ideal within 5 %"),
      // 12.4 s of thread time in place of 12: 3.2 % more.
      Ideal("nearly twice", {fakes::kOne, fakes::Two(6.2)},
            "2 threads are 1.94x as fast as 1 thread, 97 % of ideal"),
      // 42 s of thread time in place of 22, all of it waits for bytes: 20 of 42.
      Lost("bandwidth shared", {fakes::kMemoryOne, fakes::MemoryTwo(21, 200, 10)},
           Cause::kBandwidth, 47.6,
           "48 points are lost, 48 by bandwidth shared (each thread's share of the DRAM roof falls "
           "to 50 %)"),
      Lost("bandwidth, unwatched",
           {fakes::Unwatched(fakes::kMemoryOne), fakes::Unwatched(fakes::MemoryTwo(21, 200, 10))},
           Cause::kBandwidth, 47.6, "bandwidth shared"),
      Lost("cache lost", {fakes::kMemoryOne, fakes::MemoryTwo(21, 400, 20)}, Cause::kIntensity,
           47.6, "intensity lost (the same work moves 2.00x the bytes of DRAM, modelled)"),
      // 100 / 14 s x 2 = 14.29 s in place of 10, of 16.4.
      Lost("clock lowered",
           {fakes::kOne, {.threads = 2, .seconds = 8.2, .flops_rate = 14, .bytes_rate = 20}},
           Cause::kArithmetic, 26.1,
           "clock lowered (the arithmetic roof of a thread falls to 70 %)"),
      // Each second of 9 counts for two threads: 2 x 3 of 18.
      Lost("fork and join", {fakes::kOne, fakes::Watched(fakes::Two(9), {.fork_join = 3})},
           Cause::kOverhead, 33.3,
           "33 points are lost, 33 by overhead grown (fork and join of parallel regions)"),
      Lost("one thread works", {fakes::kOne, fakes::Watched(fakes::Two(9), {.serial = 3})},
           Cause::kOverhead, 33.3, "one thread works, the others wait"),
      Lost("imbalance", {fakes::kOne, fakes::Watched(fakes::Two(9), {.imbalance = 3})},
           Cause::kImbalance, 33.3, "imbalance (waiting for the slowest thread)"),
      Lost("stolen", {fakes::kOne, fakes::Watched(fakes::Two(9), {.stolen = 3})}, Cause::kStolen,
           33.3, "time stolen by other programs"),
      // The second thread idles through all of 12 s: 12 of 24.
      Lost("one of two works", {fakes::kOne, fakes::Watched(fakes::Two(12), {.team = 1})},
           Cause::kIdle, 50, "idle threads (the library works on 1 of 2 threads)"),
      // On one thread the call is busy for 12 s, on two threads for 18 s in all.
      Lost("threads slow each other", {fakes::kOne, fakes::Watched(fakes::Two(9), {.alone = 12})},
           Cause::kSharing, 33.3, "33 by sharing (threads slow each other)"),
      // 2 x 4 s in place of 2, of 2 x 10.
      Lost("functions",
           {fakes::Watched({.threads = 1, .seconds = 14}, {.functions = 2}),
            fakes::Watched(fakes::Two(10), {.functions = 4})},
           Cause::kFunctions, 30, "sigmoid, tanh"),
      Lost("slower with two", {fakes::kOne, fakes::Watched(fakes::Two(15), {.fork_join = 9})},
           Cause::kOverhead, 60, "2 threads are 0.800x as fast as 1 thread, 40 % of ideal"),
  };
}

std::vector<Case> Unexplained() {
  return {
      Lost("busy time grows", {fakes::kOne, fakes::Two(9)}, Cause::kUnexplained, 33.3,
           "no measurement explains 33 of them (it is the threads' own busy time)"),
      Lost("one point unwatched",
           {fakes::Unwatched(fakes::kOne), fakes::Watched(fakes::Two(9), {.fork_join = 3})},
           Cause::kUnexplained, 33.3, "not watched: --dlroof_explain"),
      Lost("no bytes, unwatched",
           {fakes::Unwatched(fakes::WithoutBytes(fakes::kOne)),
            fakes::Unwatched(fakes::WithoutBytes(fakes::Two(9)))},
           Cause::kUnexplained, 33.3, "no measurement explains"),
      Lost("no bytes, a lower clock",
           {fakes::WithoutBytes(fakes::kOne),
            fakes::WithoutBytes({.threads = 2, .seconds = 8.2, .flops_rate = 14})},
           Cause::kArithmetic, 26.1, "clock lowered"),
      Lost("no bytes at one point",
           {fakes::WithoutBytes(fakes::kMemoryOne), fakes::MemoryTwo(21, 200, 10)},
           Cause::kUnexplained, 47.6, "no measurement explains"),
      Lost("no roofs of two",
           {fakes::kOne, fakes::With(fakes::Two(9), &fakes::PointSpec::no_roofs)},
           Cause::kUnexplained, 33.3, "one of the points has no roofs"),
      {"counted in two ways",
       {fakes::With(fakes::Batch(1, 10, 100, 20), &fakes::PointSpec::measured),
        fakes::Batch(4, 40, 400, 80)},
       Scaling::kUnknown,
       {},
       0,
       "counted in different ways",
       "batch"},
      // 2 of 18 are fork and join, 4 are unexplained.
      Lost("more is unexplained", {fakes::kOne, fakes::Watched(fakes::Two(9), {.fork_join = 1})},
           Cause::kUnexplained, 22.2,
           "explains 22 of them (it is the threads' own busy time); 11 by overhead grown"),
  };
}

std::vector<Case> Mixed() {
  return {
      // Bytes 200 -> 400, a byte 0.1 -> 0.125 thread seconds: 22.5 by bytes, 7.5 by rate, of 52.
      Lost("more bytes than rate", {fakes::kMemoryOne, fakes::MemoryTwo(26, 400, 16)},
           Cause::kIntensity, 43.3, "intensity lost"),
      // 200 -> 240 byte, 0.1 -> 0.2 s: 6 by bytes, 22 by rate, of 50.
      Lost("more rate than bytes", {fakes::kMemoryOne, fakes::MemoryTwo(25, 240, 10)},
           Cause::kBandwidth, 44, "bandwidth shared"),
      // 2.2 s of overhead in two components against 1.5 s of imbalance, x 2, of 21.4.
      Lost("overhead in two components",
           {fakes::kOne,
            fakes::Watched(fakes::Two(10.7), {.fork_join = 1, .serial = 1.2, .imbalance = 1.5})},
           Cause::kOverhead, 20.6, "most of it: one thread works"),
      Lost("stolen over imbalance",
           {fakes::kOne, fakes::Watched(fakes::Two(10), {.imbalance = 1, .stolen = 3})},
           Cause::kStolen, 30, "stolen"),
      Lost("overhead over bandwidth",
           {fakes::kMemoryOne, fakes::Watched(fakes::MemoryTwo(19, 200, 16), {.fork_join = 4})},
           Cause::kOverhead, 21.1, "overhead"),
      Lost("bandwidth over overhead",
           {fakes::kMemoryOne, fakes::Watched(fakes::MemoryTwo(23, 200, 10), {.fork_join = 2})},
           Cause::kBandwidth, 43.5, "bandwidth"),
      // Arithmetic binds one thread (10 s) and bytes four (5 s, 20 of thread time): 10 of 22.
      Lost("bytes bind four",
           {{.threads = 1, .seconds = 10.5, .bytes = 100, .bytes_rate = 20},
            {.threads = 4, .seconds = 5.5, .bytes = 100, .flops_rate = 40, .bytes_rate = 20}},
           Cause::kBandwidth, 45.5, "falls to 25 %"),
      Lost("cache lost binds four",
           {{.threads = 1, .seconds = 10.5, .bytes = 100, .bytes_rate = 20},
            {.threads = 4, .seconds = 10.1, .bytes = 800, .flops_rate = 40, .bytes_rate = 80}},
           Cause::kIntensity, 74.3, "8.00x the bytes"),
      // The middle point is ideal, but the last one is compared with the first.
      Lost("three points",
           {fakes::kMemoryOne,
            fakes::MemoryTwo(11, 200, 20),
            {.threads = 4, .seconds = 10.5, .bytes = 200, .flops_rate = 40, .bytes_rate = 20}},
           Cause::kBandwidth, 47.6, "4 threads"),
      // Overhead takes 8 of 18; the threads' busy time is shorter by 2.
      Lost("a gain beside the loss", {fakes::kOne, fakes::Watched(fakes::Two(9), {.fork_join = 4})},
           Cause::kOverhead, 44.4, "33 points are lost, 44 by overhead grown"),
  };
}

std::vector<Case> GainsAndSizes() {
  return {
      // 400 byte at one thread, 200 at two: 20 of 42 s of thread time are gained.
      Gained("more cache in all",
             {{.threads = 1, .seconds = 42, .bytes = 400}, fakes::MemoryTwo(11, 200, 20)},
             Cause::kIntensity, 47.6,
             "191 % of ideal: 48 points are gained, 48 by intensity gained"),
      // Each batch of 1 waits 5 s; a batch of 4 does so once: 3.75 of 10 s for 100 flop.
      Gained(
          "overhead amortised",
          {fakes::Batch(1, 10, 100, 2, {.fork_join = 5}),
           fakes::Batch(4, 25, 400, 8, {.fork_join = 5})},
          Cause::kOverhead, 37.5,
          "batch 4 has 1.60x the FLOP/s of batch 1: 38 points are gained, 38 by overhead amortised",
          "batch"),
      // 400 byte (20 s) for 100 flop, then 640 byte (32 s) for 1600 (80 s): 20 -> 5 s for 100 flop.
      Gained("weights reused", {fakes::Batch(1, 21, 100, 400), fakes::Batch(16, 96, 1600, 640)},
             Cause::kIntensity, 71.4, "intensity gained", "batch"),
      Ideal("no change", {fakes::Batch(1, 10, 100, 20), fakes::Batch(4, 40, 400, 80)},
            "the same within 5 %", "batch"),
      // From 4 to 16 the bytes of 100 flop grow from 100 to 400: 5 -> 20 s, of 21.
      Lost("a peak",
           {fakes::Batch(1, 12, 100, 100), fakes::Batch(4, 24, 400, 400),
            fakes::Batch(16, 336, 1600, 6400)},
           Cause::kIntensity, 71.4,
           "batch 16 has 0.286x the FLOP/s of batch 4, the peak (2.00x those of batch 1)", "batch"),
      Gained("imbalance shrinks",
             {fakes::Batch(1, 10, 100, 2, {.imbalance = 4}),
              fakes::Batch(4, 25, 400, 8, {.imbalance = 1})},
             Cause::kImbalance, 37.5, "less imbalance", "batch"),
      // Arithmetic takes 5 s and bytes 2 s of 10 s for 100 flop, then arithmetic all of 5 s.
      Gained("bytes of a level that does not bind",
             {fakes::Batch(1, 10, 100, 40), fakes::Batch(4, 20, 400, 40)}, Cause::kUnexplained, 30,
             "own busy time, while the same work moves 0.250x the bytes of DRAM, modelled); 20 by "
             "less time at other levels",
             "batch"),
      Gained("idle threads find work",
             {fakes::Batch(1, 10, 100, 2, {.team = 1}), fakes::Batch(4, 24, 400, 8)}, Cause::kIdle,
             50, "fewer idle threads (the library works on 1 of 2 threads)", "batch"),
  };
}

std::vector<Case> Estimates() {
  return {
      Lost("noisy",
           {fakes::kOne,
            fakes::With(fakes::Watched(fakes::Two(9), {.fork_join = 3}), &fakes::PointSpec::noisy)},
           Cause::kOverhead, 33.3, "; 1 of the 2 times is noisy, an estimate."),
      Ideal("noisy, ideal",
            {fakes::With(fakes::kOne, &fakes::PointSpec::noisy),
             fakes::With(fakes::Two(6), &fakes::PointSpec::noisy)},
            "; 2 of the 2 times are noisy, an estimate."),
      // A fifth of each time may be waits: 10 (the roof) to 12 s, and 5.6 to 7 s of two threads.
      Lost("noisy, perhaps nothing",
           {fakes::With(fakes::kOne, &fakes::PointSpec::noisy),
            fakes::With(fakes::Watched(fakes::Two(7), {.fork_join = 1}), &fakes::PointSpec::noisy)},
           Cause::kOverhead, 14.3, "; the 95 % intervals of the times overlap; 2 of"),
      {"noisy, one point",
       {fakes::With(fakes::kOne, &fakes::PointSpec::noisy)},
       Scaling::kOnePoint,
       {},
       0,
       "an estimate"},
      Lost("specified roof",
           {fakes::With(fakes::kMemoryOne, &fakes::PointSpec::specified),
            fakes::With(fakes::MemoryTwo(21, 200, 10), &fakes::PointSpec::specified)},
           Cause::kBandwidth, 47.6, "the roofs are specified"),
      Lost("not validated",
           {fakes::kMemoryOne,
            fakes::With(fakes::MemoryTwo(21, 200, 10), &fakes::PointSpec::not_validated)},
           Cause::kBandwidth, 47.6, "at least one of the roofs is not validated"),
  };
}

class Diagnoses : public testing::TestWithParam<Case> {};

TEST_P(Diagnoses, NameTheLargestCauseWithItsNumber) {
  const auto& one = GetParam();
  const auto trajectories = Trajectories(fakes::RunOf(one.points), one.along, 1);
  ASSERT_EQ(trajectories.size(), 1u);
  const auto& trajectory = trajectories.front();
  ASSERT_EQ(trajectory.points.size(), one.points.size());
  const auto found = Diagnose(trajectory);
  EXPECT_EQ(found.scaling, one.scaling) << found.sentence;
  const auto key = [](const std::optional<Cause>& cause) { return cause ? Key(*cause) : "none"; };
  EXPECT_EQ(key(found.cause), key(one.cause)) << found.sentence;
  EXPECT_NEAR(found.points, one.of_points, 0.06) << found.sentence;
  EXPECT_THAT(found.sentence, HasSubstr(one.says));
  const bool noisy = std::ranges::any_of(one.points, &fakes::PointSpec::noisy);
  EXPECT_EQ(found.sentence.starts_with("~"), noisy) << found.sentence;
  EXPECT_EQ(found.sentence.find("intervals") != std::string::npos,
            one.says.find("intervals") != std::string::npos)
      << found.sentence;
  for (const auto& step : trajectory.steps) {
    double sum = 0;
    for (const auto& [cause, change] : step.loss.by) sum += change;
    EXPECT_NEAR(sum, step.loss.Total(), 1e-9 * step.loss.after) << "the causes add up";
  }
}

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Simple, Diagnoses, testing::ValuesIn(Simple()), CaseName);
INSTANTIATE_TEST_SUITE_P(Unexplained, Diagnoses, testing::ValuesIn(Unexplained()), CaseName);
INSTANTIATE_TEST_SUITE_P(Mixed, Diagnoses, testing::ValuesIn(Mixed()), CaseName);
INSTANTIATE_TEST_SUITE_P(Sizes, Diagnoses, testing::ValuesIn(GainsAndSizes()), CaseName);
INSTANTIATE_TEST_SUITE_P(Estimates, Diagnoses, testing::ValuesIn(Estimates()), CaseName);

}  // namespace
}  // namespace dlroof::roofline
