#include "bench/runner/timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace dlroof::runner {
namespace {

constexpr double kSeconds = 0.03;  // of a repetition

struct Course {
  std::vector<record::Repetition> repetitions;
  double seconds = 0, paused = 0;
  std::size_t Clean() const {
    return repetitions.size() -
           static_cast<std::size_t>(std::count_if(repetitions.begin(), repetitions.end(),
                                                  [](auto& one) { return one.noisy; }));
  }
};

// Repeats as the rule wants; `next` makes the repetition that begins at a time [s].
Course Follow(const StoppingRule& rule, const std::function<record::Repetition(double)>& next) {
  Course course;
  for (;;) {
    const auto wanted = NextAfter(course.repetitions, course.seconds, rule);
    if (!wanted.wanted || course.repetitions.size() > 1000) return course;
    course.paused += wanted.pause_seconds;
    course.seconds += wanted.pause_seconds;
    course.repetitions.push_back(next(course.seconds));
    course.seconds += kSeconds;
  }
}

record::Repetition Quiet(double) { return {.seconds = 1, .iterations = 1}; }
record::Repetition Busy(double) { return {.seconds = 2, .iterations = 1, .noisy = true}; }

TEST(StoppingRule, AQuietMachineRepeatsAsOftenAsAskedFor) {
  const auto course = Follow({}, Quiet);
  EXPECT_EQ(course.repetitions.size(), 9);
  EXPECT_EQ(course.paused, 0);
}

TEST(StoppingRule, ABurstIsReplaced) {
  const auto course =
      Follow({}, [](double time) { return time > 0.1 && time < 0.4 ? Busy(time) : Quiet(time); });
  EXPECT_EQ(course.Clean(), 9);
  EXPECT_GT(course.repetitions.size(), 9);
  EXPECT_GT(course.paused, 0);
  EXPECT_LT(course.seconds, 2);
}

TEST(StoppingRule, ABusyMachineEndsWithTheTime) {
  const auto course = Follow({.max_seconds = 1}, Busy);
  EXPECT_EQ(course.Clean(), 0);
  EXPECT_GE(course.seconds, 1);
  EXPECT_LT(course.seconds, 1 + kSeconds + 0.1 + 1e-9);  // one repetition and the longest pause
}

TEST(StoppingRule, AsManyAsAskedForRunWhenTheTimeIsShort) {
  EXPECT_EQ(Follow({.repetitions = 20, .max_seconds = 0.1}, Busy).repetitions.size(), 20);
  EXPECT_EQ(Follow({.repetitions = 3, .max_seconds = 0}, Busy).repetitions.size(), 3);
}

// Repetition i takes 1, 1.01, 1.02, ... s. After 9 the interval is 1.01 to 1.07: 3 % of the median.
TEST(StoppingRule, ADriftingTimeRepeatsUntilTheTimeIsUp) {
  const auto drifting = [](double time) {
    return record::Repetition{.seconds = 1 + time / kSeconds / 100, .iterations = 1};
  };
  EXPECT_EQ(Follow({.max_noise = 0.031}, drifting).repetitions.size(), 9);
  const auto course = Follow({.max_noise = 0.02}, drifting);
  EXPECT_GE(course.seconds, 2);
}

// With half of the repetitions at 1 s and half at 1.2 s no number of them narrows the interval;
// with a tenth at 1.2 s the interval closes on 1 s.
TEST(StoppingRule, NoiseOfFewRepetitionsIsAveragedOut) {
  int count = 0;
  const auto some = [&](int of) {
    return [&count, of](double) {
      return record::Repetition{.seconds = ++count % of == 0 ? 1.2 : 1, .iterations = 1};
    };
  };
  EXPECT_GE(Follow({}, some(2)).seconds, 2);
  EXPECT_LT(Follow({}, some(10)).repetitions.size(), 20);
}

TEST(StoppingRule, FewerThanSixNeedNoInterval) {
  const auto course = Follow({.repetitions = 3}, [](double time) {
    return record::Repetition{.seconds = 1 + time, .iterations = 1};
  });
  EXPECT_EQ(course.repetitions.size(), 3);
}

TEST(StoppingRule, PausesDoubleWhileEachRepetitionIsNoisyAndEndWithACleanOne) {
  std::vector<record::Repetition> done = {Busy(0)};
  EXPECT_EQ(NextAfter(done, 0, {}).pause_seconds, 2e-3);
  done.insert(done.end(), {Busy(0), Busy(0)});
  EXPECT_EQ(NextAfter(done, 0, {}).pause_seconds, 8e-3);
  for (int i = 0; i < 10; ++i) done.push_back(Busy(0));
  EXPECT_EQ(NextAfter(done, 0, {}).pause_seconds, 0.1);
  done.push_back(Quiet(0));
  EXPECT_EQ(NextAfter(done, 0, {}).pause_seconds, 0);
}

// 2 ms of 4 calls; the process waited `delay` of them.
cpu::ClockReading Part(double wall, double delay) {
  return {wall, wall - delay, wall - delay, delay};
}

TEST(RepetitionOfParts, IsOfTheCleanOnes) {
  const auto repetition = RepetitionOfParts({Part(2e-3, 0), Part(6e-3, 4e-3), Part(3e-3, 0)}, 4);
  EXPECT_DOUBLE_EQ(repetition.seconds, 5e-3 / 8);
  EXPECT_DOUBLE_EQ(*repetition.main_cpu_seconds, 5e-3 / 8);
  EXPECT_EQ(repetition.run_delay_seconds, 0);
  EXPECT_DOUBLE_EQ(*repetition.cpu_seconds, 5e-3 / 8);
  EXPECT_EQ(repetition.iterations, 12);
  EXPECT_EQ(repetition.clean_calls, 8);
}

// The OS updates the CPU time of other threads every few milliseconds.
TEST(RepetitionOfParts, HasNoCpuTimeOfOtherThreads) {
  auto part = Part(2e-3, 0);
  part.process_cpu *= 2;
  EXPECT_FALSE(RepetitionOfParts({part, part}, 4).cpu_seconds);
}

// Four calls of 50 us, of which the fourth waited; two of them are a part.
TEST(RepetitionOfCalls, LeavesOutThePartsInWhichACallWaited) {
  const std::vector<cpu::ClockReading> calls = {Part(5e-5, 0), Part(5e-5, 0), Part(5e-5, 0),
                                                Part(4.5e-4, 4e-4)};
  const auto whole = RepetitionOfCalls(calls, false);
  EXPECT_DOUBLE_EQ(whole.seconds, 1.5e-4);
  EXPECT_FALSE(whole.clean_calls);
  const auto parts = RepetitionOfCalls(calls, true);
  EXPECT_DOUBLE_EQ(parts.seconds, 5e-5);
  EXPECT_EQ(parts.clean_calls, 2);
  EXPECT_EQ(parts.iterations, 4);
}

TEST(RepetitionOfCalls, OfFewShortCallsIsTheirMean) {
  const std::vector<cpu::ClockReading> calls = {Part(1e-5, 0), Part(3e-5, 2e-5)};
  const auto repetition = RepetitionOfCalls(calls, true);
  EXPECT_DOUBLE_EQ(repetition.seconds, 2e-5);
  EXPECT_FALSE(repetition.clean_calls);
}

TEST(RepetitionOfParts, IsOfAllWhereEachWasNoisy) {
  const auto repetition = RepetitionOfParts({Part(6e-3, 4e-3), Part(6e-3, 2e-3)}, 3);
  EXPECT_DOUBLE_EQ(repetition.seconds, 2e-3);
  EXPECT_DOUBLE_EQ(*repetition.run_delay_seconds, 1e-3);
  EXPECT_EQ(repetition.clean_calls, 6);
  std::vector<record::Repetition> one = {repetition};
  record::MarkNoisy(one);
  EXPECT_TRUE(one[0].noisy);
}

}  // namespace
}  // namespace dlroof::runner
