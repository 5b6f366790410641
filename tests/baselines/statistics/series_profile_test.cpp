#include "baselines/statistics/series_profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace dlroof::statistics {
namespace {

// `count` values that go round 1.00, 1.01, 0.99, 1.005, 0.995 times `level`: no two runs of one
// length differ in their median by more than 0.5 %.
void Append(std::vector<double>& values, double level, int count) {
  constexpr double kRound[] = {1.00, 1.01, 0.99, 1.005, 0.995};
  for (int i = 0; i < count; ++i) values.push_back(level * kRound[i % 5]);
}

std::vector<double> LogNormal(std::size_t count, std::uint64_t seed, double deviation,
                              double memory = 0) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  double last = normal(random);
  for (auto& value : values) {
    value = std::exp(deviation * last);
    last = memory * last + std::sqrt(1 - memory * memory) * normal(random);
  }
  return values;
}

TEST(FindChangePoints, FindsAStepWhereItIs) {
  std::vector<double> values;
  Append(values, 1, 20);
  Append(values, 1.1, 20);
  const auto points = FindChangePoints(values);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].at, 20U);
  EXPECT_NEAR(points[0].ratio, 1.1, 1e-9);  // medians 1.1 and 1.0
}

// Chance makes the noise of some short series look as if values depended on those before.
TEST(FindChangePoints, ALargeStepIsFoundInEveryShortSeries) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 engine(seed);
    std::normal_distribution<double> normal(0, 0.01);
    std::vector<double> values;
    for (int i = 0; i < 19; ++i) values.push_back((i < 9 ? 1 : 1.6) * std::exp(normal(engine)));
    const auto changes = FindChangePoints(values);
    ASSERT_EQ(changes.size(), 1) << seed;
    EXPECT_EQ(changes[0].at, 9) << seed;
  }
}

TEST(FindChangePoints, FindsThereAndBackAgain) {
  std::vector<double> values;
  Append(values, 1, 30);
  Append(values, 1.2, 15);
  Append(values, 1, 30);
  const auto points = FindChangePoints(values);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].at, 30U);
  EXPECT_EQ(points[1].at, 45U);
  EXPECT_NEAR(points[1].ratio, 1 / 1.2, 1e-9);
}

TEST(FindChangePoints, OutliersAreNoChange) {
  std::vector<double> values;
  Append(values, 1, 60);
  for (const int at : {7, 23, 24, 41, 59}) values[at] = 5;
  EXPECT_TRUE(FindChangePoints(values).empty());
}

TEST(FindChangePoints, IgnoresWhatIsTooSmallOrTooShort) {
  std::vector<double> small;
  Append(small, 1, 40);
  Append(small, 1.015, 40);  // seen, but below 2 %
  EXPECT_TRUE(FindChangePoints(small).empty());
  EXPECT_EQ(FindChangePoints(small, {5, 0.01}).size(), 1U);
  std::vector<double> four;
  Append(four, 1, 60);
  Append(four, 2, 4);
  EXPECT_TRUE(FindChangePoints(four).empty());
  EXPECT_TRUE(FindChangePoints({1, 1, 1, 1, 2, 2, 2, 2}).empty());
  EXPECT_TRUE(FindChangePoints({}).empty());
}

TEST(FindChangePoints, EqualValuesHaveNoChange) {
  EXPECT_TRUE(FindChangePoints(std::vector<double>(100, 3.0)).empty());
  std::vector<double> quantized(30, 3.0);
  quantized.insert(quantized.end(), 30, 3.3);
  const auto points = FindChangePoints(quantized);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].at, 30U);
}

// A monotonic transformation preserves ranks, so the change points remain.
TEST(FindChangePoints, DoesNotDependOnTheUnit) {
  auto values = LogNormal(120, 3, 0.02);
  for (std::size_t i = 70; i < values.size(); ++i) values[i] *= 1.15;
  const auto in_seconds = FindChangePoints(values);
  for (auto& value : values) value *= 1e9;
  const auto in_nanoseconds = FindChangePoints(values);
  ASSERT_EQ(in_seconds.size(), 1U);
  ASSERT_EQ(in_nanoseconds.size(), 1U);
  EXPECT_EQ(in_seconds[0].at, in_nanoseconds[0].at);
}

int FalseAlarms(std::uint64_t series, std::size_t values, double memory) {
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < series; ++seed)
    alarms += FindChangePoints(LogNormal(values, seed, 0.02, memory), {5, 0}).empty() ? 0 : 1;
  return alarms;
}

// 1 % was promised: of 500 series 5 are expected, and more than 13 have a probability of 0.1 %.
// Without the correction every second series with a correlation of 0.5 would have a change.
TEST(FindChangePoints, OneSeriesInAHundredIsAFalseAlarm) {
  EXPECT_LE(FalseAlarms(500, 100, 0), 13);
  EXPECT_LE(FalseAlarms(100, 200, 0.5), 12) << "noise with memory raises the threshold";
}

TEST(NoiseMemory, SeesCorrelationAndNoSteps) {
  EXPECT_LT(NoiseMemory(LogNormal(2000, 1, 0.02)), 0.1);
  EXPECT_NEAR(NoiseMemory(LogNormal(2000, 1, 0.02, 0.6)), 0.6, 0.1);
  auto stepped = LogNormal(2000, 1, 0.02);
  for (std::size_t i = 1000; i < stepped.size(); ++i) stepped[i] *= 2;
  EXPECT_LT(NoiseMemory(stepped), 0.1);
}

TEST(ProfileOf, TwoValuesAreTooFewForTheNoise) {
  EXPECT_FALSE(ProfileOf({1}).deviation);
  EXPECT_FALSE(ProfileOf({1, 1.5}).deviation);
  EXPECT_EQ(ProfileOf({1, 1, 1}).deviation, 0);
}

TEST(ProfileOf, KnowsLevelsNoiseAndOutliers) {
  std::vector<double> values;
  Append(values, 1, 20);
  Append(values, 1.5, 20);
  values[9] = 4;
  const auto profile = ProfileOf(values);
  ASSERT_EQ(profile.levels.size(), 2U);
  EXPECT_EQ(profile.levels[1].begin, 20U);
  EXPECT_EQ(profile.levels[1].end, 40U);
  EXPECT_DOUBLE_EQ(profile.levels[1].median, 1.5);
  ASSERT_EQ(profile.outliers.size(), 1U);
  EXPECT_EQ(profile.outliers[0], 9U);
  // Distances 0, 0.01, 0.01, 0.005, 0.005, over and over: the median is about 0.005.
  EXPECT_NEAR(profile.deviation.value(), 1.4826 * 0.005, 1e-3);
}

}  // namespace
}  // namespace dlroof::statistics
