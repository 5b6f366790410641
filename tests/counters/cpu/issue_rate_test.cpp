#include "counters/cpu/issue_rate.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

// At least one addition every eight cycles, and no more than eight in one: there are eight chains.
// The clock may change between the two loops of a pair.
TEST(MeasureIssueRate, IsWhatACoreCanIssueWhereThereAreLoops) {
  const auto rate = MeasureIssueRate();
  if (!rate) GTEST_SKIP() << "no loops for this family of CPUs";
  EXPECT_GT(*rate, 0.125);
  EXPECT_LT(*rate, 10);
}

}  // namespace
}  // namespace dlroof
