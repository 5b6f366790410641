#include "counters/gpu/sm_stamps.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

// In 400 us 1.0, 1.2 and 1.4 GHz; the fourth SM got no block the second time,
// the fifth none the first.
TEST(MeanClockHz, IsOfAllSmsThatHaveBothStamps) {
  const std::vector<SmStamp> stamps = {
      {1000, 7},        {1000, 8},        {2000, 9},        {1000, 7}, {0, 0},
      {401000, 400007}, {401000, 480008}, {402000, 560009}, {0, 0},    {401000, 9000000}};
  EXPECT_DOUBLE_EQ(MeanClockHz(stamps).value(), 1.2e9);
}

TEST(MeanClockHz, IsAbsentWhereTheTimerIsTooCoarse) {
  EXPECT_FALSE(MeanClockHz({{1000, 0}, {200999, 200000}}));
  EXPECT_TRUE(MeanClockHz({{1000, 0}, {201000, 200000}}));
  EXPECT_FALSE(MeanClockHz({{1000, 5}, {401000, 5}}));
  EXPECT_FALSE(MeanClockHz({}));
}

}  // namespace
}  // namespace dlroof
