#include "counters/cpu/core_clock.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dlroof {
namespace {

// A CPU of 0.2 to 10 GHz: a chain that the core shortens (one of additions runs at 14 to 21 "GHz")
// or a count that is off by ten falls outside.
TEST(MeasureCoreClock, IsAClockWhereThereIsAChain) {
  const auto clock = MeasureCoreClock();
  if (!clock) GTEST_SKIP() << "no chain for this family of CPUs";
  EXPECT_TRUE(std::isfinite(*clock));
  EXPECT_GT(*clock, 0.2e9);
  EXPECT_LT(*clock, 10e9);
}

}  // namespace
}  // namespace dlroof
