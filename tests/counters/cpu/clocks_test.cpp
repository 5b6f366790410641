#include "counters/cpu/clocks.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dlroof::cpu {
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

// One thread is busy for 2 ms of CPU time. Each clock shows that, except for the time between its
// reading and that of the first clock.
TEST(ReadClocks, EveryClockSeesABusyThread) {
  constexpr double kBusySeconds = 2e-3;
  const auto begin = ReadClocks();
  auto spent = ReadClocks() - begin;
  while (spent.thread_cpu < kBusySeconds) spent = ReadClocks() - begin;
  EXPECT_LT(spent.thread_cpu, 1);
  EXPECT_GE(spent.process_cpu, 0.9 * kBusySeconds);
  EXPECT_GE(spent.wall, 0.9 * kBusySeconds);
}

// CPUs run at 0.2 to 10 GHz. A chain that the core shortens (additions would give 14 to 21 "GHz")
// or a count that is wrong by a factor of ten falls outside.
TEST(MeasureCoreClock, IsAClock) {
  const double clock = MeasureCoreClock();
  EXPECT_GT(clock, 0.2e9);
  EXPECT_LT(clock, 10e9);
}

// At least one addition every eight cycles, and no more than eight in one: there are eight chains.
// The clock may change between the two loops of a pair.
TEST(MeasureIssueRate, IsWhatACoreCanIssue) {
  const double rate = MeasureIssueRate();
  EXPECT_GT(rate, 0.125);
  EXPECT_LT(rate, 10);
}

// Half of the loop of loads and additions is independent of the other half, so at least one
// instruction starts in a nanosecond on any core above 1 GHz, and none starts 100.
TEST(MeasureInstructionRate, IsACores) {
  const double rate = MeasureInstructionRate();
  EXPECT_GT(rate, 1e8);
  EXPECT_LT(rate, 1e11);
}

// Clocks that stand still until the test moves them.
struct MadeUpClocks {
  double wall = 100, cpu = 7;

  BudgetClocks Clocks() {
    return {[this] { return wall; }, [this] { return cpu; }};
  }
  // This process computes while other programs take the CPU for `others`. [s]
  void Compute(double seconds, double others = 0) {
    cpu += seconds;
    wall += seconds + others;
  }
};

TEST(Budget, CountsCpuTimeWhileOtherProgramsTakeTheCpu) {
  MadeUpClocks clocks;
  const Budget budget(4, 25, clocks.Clocks());
  EXPECT_FALSE(budget.IsSpent());
  clocks.Compute(3, 15);
  EXPECT_DOUBLE_EQ(budget.CpuLeft(), 1);
  EXPECT_DOUBLE_EQ(budget.WallLeft(), 7);
  EXPECT_FALSE(budget.IsSpent());
  clocks.Compute(1);
  EXPECT_TRUE(budget.IsSpent());
  EXPECT_EQ(budget.CpuLeft(), 0);
}

TEST(Budget, EndsByWallTimeToo) {
  MadeUpClocks clocks;
  const Budget budget(4, 25, clocks.Clocks());
  clocks.Compute(1, 24);
  EXPECT_TRUE(budget.IsSpent());
  clocks.Compute(1);
  EXPECT_EQ(budget.WallLeft(), 0);
  EXPECT_DOUBLE_EQ(budget.CpuLeft(), 2);
}

TEST(Budget, APartEndsWithTheWhole) {
  MadeUpClocks clocks;
  const Budget whole(10, 25, clocks.Clocks());
  clocks.Compute(7, 1);
  EXPECT_DOUBLE_EQ(whole.Part(2).CpuLeft(), 2);
  EXPECT_DOUBLE_EQ(whole.Part(4).CpuLeft(), 3);
  EXPECT_DOUBLE_EQ(whole.Part(4).WallLeft(), 17);
  const auto part = whole.Part(2);
  clocks.Compute(2);
  EXPECT_TRUE(part.IsSpent());
  EXPECT_FALSE(whole.IsSpent());
}

TEST(Budget, MayHaveNoLimit) {
  const Budget endless(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(endless.IsSpent());
  EXPECT_FALSE(endless.Part(1e9).IsSpent());
  EXPECT_TRUE(endless.Part(0).IsSpent());
  EXPECT_TRUE(Budget(0).IsSpent());
}

TEST(CallersClocks, DoNotGoBack) {
  const auto clocks = CallersClocks();
  const double cpu = clocks.cpu(), wall = clocks.wall();
  EXPECT_GE(clocks.cpu(), cpu);
  EXPECT_GE(clocks.wall(), wall);
}

}  // namespace
}  // namespace dlroof::cpu
