#include "bench/supervise/schedule.h"

#include <gtest/gtest.h>

namespace dlroof::supervise {
namespace {

TEST(Schedule, BothSidesGoFirstAboutAsOften) {
  int base = 0;
  for (std::uint64_t block = 0; block < 200; ++block)
    for (const bool first : DrawnSides(5, 1, block)) base += first ? 1 : 0;
  // 1000 draws: three deviations are 47.
  EXPECT_GT(base, 450);
  EXPECT_LT(base, 550);
  EXPECT_EQ(DrawnSides(64, 1, 2), DrawnSides(64, 1, 2));
  EXPECT_NE(DrawnSides(64, 1, 2), DrawnSides(64, 1, 3));
  EXPECT_NE(DrawnSides(64, 1, 2), DrawnSides(64, 2, 2));
}

TEST(Schedule, WhatIsLeftTakesTheMeanOfWhatWasSeen) {
  EXPECT_EQ(LeftText({1, 3}, 5), "10 s");
  EXPECT_EQ(LeftText({}, 5), "");
  EXPECT_EQ(LeftText({129.6}, 1), "2 min 10 s");
  EXPECT_EQ(LeftText({3900}, 1), "1 h 5 min");
}

}  // namespace
}  // namespace dlroof::supervise
