#include "bench/timing/cpu_timer.h"

#include <gtest/gtest.h>

namespace dlroof::timing {
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
  EXPECT_FALSE(repetition.cpu_seconds);
  EXPECT_EQ(repetition.iterations, 12);
  EXPECT_EQ(repetition.clean_calls, 8);
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
}  // namespace dlroof::timing
