#include "bench/library_rules/onednn_version.h"

#include <gtest/gtest.h>

namespace dlroof {
namespace {

TEST(WhyNoLoopsOf, AnotherMinorVersionMayBlockOtherwise) {
  EXPECT_EQ(WhyNoLoopsOf(3, 2), "");
  EXPECT_EQ(WhyNoLoopsOf(3, 7), "the loops of oneDNN 3.7 are not modelled, only those of 3.2");
  EXPECT_NE(WhyNoLoopsOf(3, 1), "");
  EXPECT_NE(WhyNoLoopsOf(2, 2), "");
}

}  // namespace
}  // namespace dlroof
