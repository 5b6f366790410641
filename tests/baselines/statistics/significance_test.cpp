#include "baselines/statistics/significance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace dlroof::statistics {
namespace {

TEST(Normal, QuantilesAndTailsAreThoseOfTheTables) {
  EXPECT_NEAR(NormalQuantile(0.975), 1.959964, 1e-6);
  EXPECT_NEAR(NormalQuantile(0.025), -1.959964, 1e-6);
  EXPECT_EQ(NormalQuantile(0.5), 0);
  EXPECT_NEAR(NormalTail(1.959964), 0.025, 1e-7);
  // Abramowitz and Stegun, tables 26.1 and 26.2.
  EXPECT_NEAR(NormalTail(3), 1.349898e-3, 1e-9);
  EXPECT_NEAR(NormalTail(-3), 1 - 1.349898e-3, 1e-9);
  EXPECT_NEAR(NormalTail(6) / 9.865876e-10, 1, 1e-6);
  EXPECT_NEAR(NormalTail(20) / 2.753624e-89, 1, 1e-6);
  EXPECT_NEAR(NormalQuantile(0.995), 2.575829, 1e-6);
}

TEST(Student, QuantilesAndTailsAreThoseOfTheTables) {
  EXPECT_NEAR(StudentQuantile95(1), 12.7062, 1e-4);
  EXPECT_NEAR(StudentQuantile95(6), 2.44691, 1e-5);
  EXPECT_NEAR(StudentQuantile95(6.9), 2.44691, 1e-5);
  EXPECT_NEAR(StudentQuantile95(30), 2.04227, 1e-5);
  EXPECT_NEAR(StudentQuantile95(120), 1.97993, 1e-5);
  EXPECT_NEAR(StudentQuantile95(1e9), 1.96, 0.013);
  EXPECT_NEAR(StudentQuantile95(0.5), 12.7062, 1e-4);
  // t = 1 with 1 degree of freedom (Cauchy): a half. With 2: 1 - t / sqrt(2 + t^2).
  EXPECT_NEAR(StudentTwoSided(1, 1), 0.5, 1e-12);
  EXPECT_NEAR(StudentTwoSided(-3, 2), 1 - 3 / std::sqrt(11.0), 1e-12);
  EXPECT_EQ(StudentTwoSided(0, 5), 1);
  // Tables of the quantiles at 99 %: 2.76377 (10 degrees, one-sided) and 2.75000 (30, two-sided).
  EXPECT_NEAR(StudentTwoSided(2.76377, 10), 0.02, 1e-7);
  EXPECT_NEAR(StudentTwoSided(2.75000, 30), 0.01, 1e-6);
}

TEST(Student, FarTailsKeepTheirDigits) {
  // Two degrees: 1 - t / sqrt(2 + t^2) is 1 / t^2 - 1.5 / t^4 ... for large t.
  EXPECT_NEAR(StudentTwoSided(1e6, 2) / 1e-12, 1, 1e-9);
  EXPECT_GT(StudentTwoSided(50, 14), 0);
  EXPECT_LT(StudentTwoSided(50, 14), 1e-15);
  EXPECT_NEAR(StudentTwoSided(4, 1e8) / (2 * NormalTail(4)), 1, 1e-5);
}

TEST(AdjustedPValues, AreThoseOfBenjaminiAndHochberg) {
  // Sorted 0.01 0.02 0.03 0.5 of 4: 4/1, 4/2, 4/3, 4/4 of them, made monotone from the largest.
  const auto adjusted = AdjustedPValues({0.5, 0.01, 0.03, 0.02});
  EXPECT_THAT(adjusted, testing::ElementsAre(
                            testing::DoubleNear(0.5, 1e-12), testing::DoubleNear(0.04, 1e-12),
                            testing::DoubleNear(0.04, 1e-12), testing::DoubleNear(0.04, 1e-12)));
  EXPECT_TRUE(AdjustedPValues({}).empty());
  EXPECT_DOUBLE_EQ(AdjustedPValues({0.2}).at(0), 0.2);
}

}  // namespace
}  // namespace dlroof::statistics
