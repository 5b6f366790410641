#include "counters/cpu/clocks.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

TEST(ParseRunDelay, IsTheSecondFieldInSeconds) {
  EXPECT_DOUBLE_EQ(ParseRunDelay("123456 2500000000 17\n").value(), 2.5);
  for (const char* bad : {"", "12", "12 ", "12 x 3", "12 34"})
    EXPECT_EQ(ParseRunDelay(bad), std::nullopt) << bad;
}

TEST(ClockReading, DifferenceKeepsAnUnknownRunDelayUnknownAndNeverNegative) {
  ClockReading begin{1, 2, 3, 0.5};
  ClockReading end{11, 7, 23, 0.75};
  const auto spent = end - begin;
  EXPECT_EQ(spent.wall, 10);
  EXPECT_EQ(spent.thread_cpu, 5);
  EXPECT_EQ(spent.process_cpu, 20);
  EXPECT_EQ(spent.run_delay, 0.25);
  end.run_delay = 0.25;
  EXPECT_EQ((end - begin).run_delay, 0);
  end.run_delay.reset();
  EXPECT_EQ((end - begin).run_delay, std::nullopt);
}

TEST(ReadClocks, NoClockRunsBackwards) {
  const auto begin = ReadClocks();
  const auto end = ReadClocks();
  const auto spent = end - begin;
  EXPECT_GE(spent.wall, 0);
  EXPECT_GE(spent.thread_cpu, 0);
  EXPECT_GE(spent.process_cpu, 0);
}

}  // namespace
}  // namespace dlroof
