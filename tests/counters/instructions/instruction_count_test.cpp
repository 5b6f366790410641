#include "counters/instructions/instruction_count.h"

#include <gtest/gtest.h>

namespace dlroof::instructions {
namespace {

void Multiply(volatile double& value, int times) {
  for (int i = 0; i < times; ++i) value = value * 1.5;
}

// n more rounds of a loop add n times the instructions of a round, one of which multiplies.
TEST(CountInstructions, GrowsByTheRoundsOfALoop) {
  volatile double value = 1;
  const auto count = [&](int rounds) {
    return CountInstructions([&] { Multiply(value, rounds); }, 10).count;
  };
  const auto none = count(0), hundred = count(100), thousand = count(1000);
  if (!thousand) GTEST_SKIP() << StepThrough([] {}, 10).reason.value().text;
  ASSERT_TRUE(none && hundred);
  EXPECT_FALSE(thousand->how.empty());
  const double round = (hundred->all - none->all) / 100;
  EXPECT_GE(round, 3) << "load, multiplication, store";
  if (!thousand->arithmetic) GTEST_SKIP() << "a hardware counter tells only their sum";
  EXPECT_EQ(thousand->all - none->all, 1000 * round);
  EXPECT_EQ(*thousand->arithmetic, 1000);
  EXPECT_EQ(*thousand->generated, 0);
  EXPECT_EQ(value, 1) << "the steps run in the child";
}

TEST(StepThrough, SaysWhyThereAreNoCounts) {
  if (!StepThrough([] {}, 10).counts) GTEST_SKIP() << StepThrough([] {}, 10).reason.value().text;
  volatile double value = 1;
  const auto late = StepThrough([&] { Multiply(value, 1 << 24); }, 0.05);
  EXPECT_FALSE(late.counts);
  EXPECT_EQ(late.reason.value().text, "single steps took more than 0.05 s of CPU time");
  const auto stopped = StepThrough([&] { Multiply(value, 1 << 24); }, 100, 0.05);
  EXPECT_FALSE(stopped.counts);
  EXPECT_EQ(stopped.reason.value().text, "single steps took more than 0.05 s");
  const auto dead = StepThrough([] { __builtin_trap(); }, 10);
  EXPECT_FALSE(dead.counts);
  EXPECT_EQ(dead.reason.value().text, "the single-stepping process ended before the call did");
}

// Half of the loop of loads and additions is independent of the other half, so at least one
// instruction starts in a nanosecond on any core above 1 GHz, and none starts 100.
TEST(MeasureInstructionRate, IsACores) {
  const auto rate = MeasureInstructionRate();
  if (!rate) GTEST_SKIP() << "no loops for this family of CPUs";
  EXPECT_GT(*rate, 1e8);
  EXPECT_LT(*rate, 1e11);
}

}  // namespace
}  // namespace dlroof::instructions
