// Statistics of interleaved comparisons: the ratio of two builds by few sequential tests, which
// share the allowed false-alarm probability; Student's t; adjusted p-values. Pure.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof::statistics {

inline double Square(double value) { return value * value; }
// Standard error of the median of normal values / standard error of their mean: sqrt(pi / 2).
inline constexpr double kMedianError = 1.2533;
// Returns the standard deviation of normal values around `centre`, estimated from their median
// distance to it, so that outliers hardly affect it.
double RobustDeviation(std::vector<double> values, double centre);

// Returns P(|T| > t) for Student's t with `degrees` > 0 degrees of freedom.
double StudentTwoSided(double t, double degrees);
// Returns t such that P(|T| > t) = `error`.
double StudentQuantile(double degrees, double error = 0.05);

// [1] Bound on the expected share of false verdicts among slower and faster.
inline constexpr double kFalseDiscoveryRate = 0.05;
// Returns the adjusted p-values in the same order (Benjamini and Hochberg, Journal of the Royal
// Statistical Society B 57 (1995) 289). Holds for tests that depend positively, as those of one run
// do through the machine's state (Benjamini and Yekutieli, Annals of Statistics 29 (2001) 1165).
std::vector<double> AdjustedPValues(const std::vector<double>& p_values);

// Natural logarithm of NEW / BASE: a ratio of 1.05 is a shift of 0.0488, 1 / 1.05 is -0.0488.
struct Shift {
  double log_ratio = 0;            // [1]
  std::pair<double, double> ci95;  // [1] of log_ratio, at the caller's level or above
  double standard_error = 0;       // [1]
  double p_value = 1;              // [1] two-sided, of no change; set for interleaved blocks
};

// Returns log(NEW / BASE) of each block, in order of the blocks. The i-th windows (repetitions) of
// both sides are a pair. A block's value is the median over the pairs that are clean on both sides,
// or over all pairs if fewer than half are clean. Other programs slow both sides of a block alike.
std::vector<double> BlockLogRatios(const record::Record& base, const record::Record& contender);

// With fewer blocks the test has no 99 % interval; each test (kLooks) needs one.
inline constexpr int kMinBlocks = 8;

// Wilcoxon's signed-rank test with the Hodges-Lehmann estimate (median of all pairwise means) and
// Tukey's interval from their order statistics (Hollander, Wolfe and Chicken, Nonparametric
// Statistical Methods, 3.1 to 3.3), with the exact distribution. Assumes that blocks are
// independent and symmetric around the shift, which holds if each block has new processes and a
// random order of the two sides. Returns nullopt if there are too few blocks for `level` [1].
std::optional<Shift> MeasurePairedShift(const std::vector<double>& log_ratios, double level);

// Returns P(W <= w) for w = 0, 1, ..., n (n + 1) / 2. W is the signed-rank statistic: the sum of
// the ranks 1 to n with a positive sign; each sign is positive with probability 1/2.
std::vector<double> SignedRankCumulated(int n);

// [1] Numbers of blocks at which an interleaved comparison is tested ("looks"), each time with a
// fifth of the allowed error (alpha spending, Lan and DeMets, Biometrika 70 (1983) 659, with
// Bonferroni's inequality, which holds for any dependence). A test may be early because the time
// budget is spent, but never because of the ratios.
inline constexpr std::array<int, 5> kLooks = {10, 14, 20, 28, 40};

// Returns MeasurePairedShift at level 1 - `error` / 5 (99 %), so that the intervals of all looks
// together cover the true shift with at least 1 - `error` (95 %). The p-value is multiplied by the
// number of looks. A smaller `error` [1] needs more blocks. Returns nullopt below kMinBlocks.
std::optional<Shift> MeasureSequentialShift(const std::vector<double>& log_ratios,
                                            double error = 0.05);

}  // namespace dlroof::statistics
