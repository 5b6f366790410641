#include "counters/cpu/budget.h"

#include <gtest/gtest.h>

#include <limits>

namespace dlroof::cpu {
namespace {

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
