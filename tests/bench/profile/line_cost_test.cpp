#include "bench/profile/line_cost.h"

#include <gtest/gtest.h>

namespace dlroof::profile {
namespace {

TEST(MeasureLineSeconds, EveryLineTakesTime) {
  for (const bool pipe : {false, true}) {
    const auto seconds = MeasureLineSeconds(200, 1, pipe);
    ASSERT_TRUE(seconds);
    EXPECT_GT(*seconds, 0);
  }
  EXPECT_TRUE(MeasureLineSeconds(100000, 1000, false)) << "is limited";
}

}  // namespace
}  // namespace dlroof::profile
