#include "bench/runner/cpu_timer.h"

#include <gtest/gtest.h>

namespace dlroof::runner {
namespace {

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
