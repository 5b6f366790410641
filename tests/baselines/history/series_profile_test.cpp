#include "baselines/history/series_profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace dlroof::history {
namespace {

// Levels, each so often: the values go round 1.00, 1.01, 0.99, 1.005, 0.995 times the level, so no
// two runs of one length differ in their median by more than 0.5 %.
std::vector<double> Steps(const std::vector<std::pair<double, int>>& levels) {
  constexpr double kRound[] = {1.00, 1.01, 0.99, 1.005, 0.995};
  std::vector<double> values;
  for (const auto& [level, count] : levels)
    for (int i = 0; i < count; ++i) values.push_back(level * kRound[i % 5]);
  return values;
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

int FalseAlarms(std::uint64_t series, std::size_t values, double deviation, double memory) {
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < series; ++seed) {
    const auto profile = ProfileOf(LogNormal(values, seed, deviation, memory));
    alarms += profile.changes.empty() && !profile.drift ? 0 : 1;
  }
  return alarms;
}

// A level of 1 that jumps at one run.
std::vector<double> Jump(int quiet, int after, double ratio, std::uint64_t seed,
                         double deviation = 0.005) {
  auto values = LogNormal(static_cast<std::size_t>(quiet + after), seed, deviation);
  for (std::size_t i = static_cast<std::size_t>(quiet); i < values.size(); ++i) values[i] *= ratio;
  return values;
}

// As `gate` does, which assumes what the noise of few runs is.
TEST(ProfileOf, AJumpAfterFewRunsIsAChangeToo) {
  for (const int quiet : {1, 2, 3, 4})
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const auto profile = ProfileOf(Jump(quiet, 1, quiet == 1 ? 1.5 : 1.2, seed));
      ASSERT_EQ(profile.changes.size(), 1U) << quiet << seed;
      EXPECT_EQ(profile.changes[0].at, static_cast<std::size_t>(quiet));
    }
  EXPECT_LE(FalseAlarms(500, 4, 0.02, 0), 8);
}

// One run may be an accident, two are not: it is said, but at once.
TEST(ProfileOf, AJumpIsAChangeAtOnce) {
  for (const double ratio : {1.1, 1.5})
    for (const int after : {1, 2, 3})
      for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const auto profile = ProfileOf(Jump(10, after, ratio, seed));
        ASSERT_FALSE(profile.changes.empty()) << ratio << after << seed;
        EXPECT_EQ(profile.changes.back().at, 10U);
        EXPECT_EQ(profile.changes.back().runs, static_cast<std::size_t>(after));
        EXPECT_GT(profile.changes.back().ratio, 1.05);
      }
}

TEST(ProfileOf, AComparisonDecidesOnTheNewestRun) {
  using statistics::Verdict;
  const auto changes = [](double ratio, std::optional<Verdict> verdict) {
    return ProfileOf(Jump(10, 1, ratio, 1), verdict).changes;
  };
  EXPECT_EQ(changes(1.2, Verdict::kSame).size(), 0U);
  EXPECT_EQ(changes(1.01, std::nullopt).size(), 0U);
  for (const auto& [ratio, verdict] :
       {std::pair(1.03, Verdict::kSlower), {0.97, Verdict::kFaster}}) {
    ASSERT_EQ(changes(ratio, verdict).size(), 1U);
    EXPECT_EQ(changes(ratio, verdict)[0].at, 10U);
    EXPECT_EQ(changes(1, verdict).size(), 0U) << "its median did not move";
  }
  EXPECT_EQ(ProfileOf(Jump(10, 2, 1.2, 1), Verdict::kSame).changes.size(), 1U);
}

TEST(ProfileOf, AnOutlierThatReturnedIsNoChange) {
  int right = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    auto values = LogNormal(12, seed, 0.005);
    values[10] *= 1.5;
    const auto profile = ProfileOf(values);
    right += profile.changes.empty() && profile.outliers.size() == 1 && profile.outliers[0] == 10;
  }
  EXPECT_GE(right, 98);
}

TEST(ProfileOf, ASlowDriftIsFound) {
  int right = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    auto values = LogNormal(20, seed, 0.005);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] *= 1 + 0.03 * static_cast<double>(i) / 19;
    const auto drift = ProfileOf(values).drift;
    right += drift && *drift > 1.02 && *drift < 1.045;
  }
  EXPECT_GE(right, 95);
}

TEST(ProfileOf, IgnoresWhatIsTooSmallAndOneSeriesInAHundredIsAFalseAlarm) {
  EXPECT_TRUE(ProfileOf(Steps({{1, 40}, {1.015, 40}})).changes.empty());
  EXPECT_TRUE(ProfileOf(std::vector<double>(100, 3.0)).changes.empty());
  EXPECT_TRUE(ProfileOf({1, 1.05}).changes.empty());
  // 1 % was promised: of 500 series 5 are expected, and more than 13 have a probability of 0.1 %.
  EXPECT_LE(FalseAlarms(500, 13, 0.005, 0), 5);
  EXPECT_LE(FalseAlarms(500, 13, 0.02, 0), 13);
  EXPECT_LE(FalseAlarms(500, 100, 0.02, 0), 13);
  EXPECT_LE(FalseAlarms(100, 200, 0.02, 0.5), 12) << "noise with memory raises the threshold";
}

TEST(ProfileOf, KnowsLevelsOutliersAndTheNoiseOfThreeValuesOrMore) {
  EXPECT_FALSE(ProfileOf({1}).deviation);
  EXPECT_FALSE(ProfileOf({1, 1.5}).deviation);
  EXPECT_EQ(ProfileOf({1, 1, 1}).deviation, 0);
  auto values = Steps({{1, 20}, {1.5, 20}});
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
}  // namespace dlroof::history
