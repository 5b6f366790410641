#include "reporters/text/units.h"

#include <gtest/gtest.h>

namespace dlroof::text {
namespace {

TEST(WithPrefix, KeepsThreeDigits) {
  EXPECT_EQ(WithPrefix(1.6e11, "FLOP/s"), "160 GFLOP/s");
  EXPECT_EQ(WithPrefix(4.2e-6, "s"), "4.20 µs");
  EXPECT_EQ(WithPrefix(1, "s"), "1.00 s");
  EXPECT_EQ(WithPrefix(57.468, "s"), "57.5 s");
  EXPECT_EQ(WithPrefix(-2e-3, "s"), "-2.00 ms");
}

TEST(WithPrefix, RoundingMayReachTheNextPrefix) {
  EXPECT_EQ(WithPrefix(999.4e-6, "s"), "999 µs");
  EXPECT_EQ(WithPrefix(999.6e-6, "s"), "1.00 ms");
}

TEST(WithPrefix, OutsideThePrefixesStaysInPowersOfTen) {
  EXPECT_EQ(WithPrefix(0, "s"), "0 s");
  EXPECT_EQ(WithPrefix(1e-15, "s"), "1.00e-15 s");
  EXPECT_EQ(WithPrefix(2.5e22, "B"), "2.50e+22 B");
}

TEST(ThreeDigits, WithoutExponentWhereItReadsWell) {
  EXPECT_EQ(ThreeDigits(57.468), "57.5");
  EXPECT_EQ(ThreeDigits(0.424), "0.424");
  EXPECT_EQ(ThreeDigits(7719), "7719");
  EXPECT_EQ(ThreeDigits(0), "0");
  EXPECT_EQ(ThreeDigits(1e-7), "1.00e-07");
}

}  // namespace
}  // namespace dlroof::text
