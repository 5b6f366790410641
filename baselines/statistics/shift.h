// The ratio of two builds that were measured interleaved, with its stopping rule: a few tests whose
// false-alarm probabilities add up to the allowed error; tails and quantiles of Student's t; and
// adjusted p-values. Pure.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof::statistics {

// Returns z with P(Z <= z) = probability, 0 < probability < 1, Z standard normal.
double NormalQuantile(double probability);
// Returns P(|T| > t) of Student's t with `degrees` > 0 of freedom.
double StudentTwoSided(double t, double degrees);
// Returns t with P(|T| > t) = `error`.
double StudentQuantile(double degrees, double error = 0.05);

// [1] Benjamini and Hochberg's bound of the share of false verdicts among slower and faster.
inline constexpr double kFalseDiscoveryRate = 0.05;
// Returns the adjusted p-values in the same order (Benjamini and Hochberg, Journal of the Royal
// Statistical Society B 57 (1995) 289). If all hypotheses with an adjusted p-value of at most q are
// rejected, the expected share of false rejections is below q for independent or positively
// dependent tests (Benjamini and Yekutieli, Annals of Statistics 29 (2001) 1165). Tests of one run
// depend positively, by its machine's state.
std::vector<double> AdjustedPValues(const std::vector<double>& p_values);

// Returns the 95 % interval of x / y from the intervals of x and y, all > 0: half-widths of
// logarithms add in quadrature (MOVER, Donner and Zou 2012). Returns nothing if one is missing.
std::optional<std::pair<double, double>> RatioInterval(
    double x, const std::optional<std::pair<double, double>>& x_ci95, double y,
    const std::optional<std::pair<double, double>>& y_ci95);

// Natural logarithm of NEW / BASE: a ratio of 1.05 is a shift of 0.0488, 1 / 1.05 is -0.0488.
struct Shift {
  double log_ratio = 0;            // [1]
  std::pair<double, double> ci95;  // [1]
  double standard_error = 0;       // [1]
};

// Returns the logarithm of NEW / BASE of each block, in the order of the blocks: the median over
// the block's windows that are clean on both sides, paired in the order measured. Leaves out blocks
// in which fewer than half of the windows are clean.
std::vector<double> BlockLogRatios(const record::Record& base, const record::Record& contender);

struct PairedShift {
  Shift shift;         // interval of at least `level`
  double p_value = 1;  // [1] two-sided, of the hypothesis "no change"
};

// Fewer blocks have no 99 % interval, which one look (kLooks) needs.
inline constexpr int kMinBlocks = 8;

// Wilcoxon's signed-rank test with its estimate and interval: Hodges and Lehmann's median of all
// pairwise means, Tukey's interval of their order statistics (Hollander, Wolfe and Chicken,
// Nonparametric Statistical Methods, 3.1 to 3.3), with the exact distribution. Assumes that blocks
// are independent and symmetric around the shift, which holds if each block has new processes and
// the order of the two sides is random. Returns nothing if there are too few blocks for `level`
// [1].
std::optional<PairedShift> MeasurePairedShift(const std::vector<double>& log_ratios, double level);

// Returns P(W <= w) for w = 0, 1, ..., n (n + 1) / 2: W is the sum of those ranks 1 to n that have
// a positive sign, each with probability 1/2.
std::vector<double> SignedRankCumulated(int n);

// [1] Numbers of clean blocks at which an interleaved comparison is tested ("looks"). Tests of
// growing data eventually find a difference in anything, so there are at most five, each with a
// fifth of the allowed error (alpha spending, Lan and DeMets, Biometrika 70 (1983) 659, by
// Bonferroni's inequality, which holds for any dependence). A test may come early when the time
// budget is spent, but must not depend on the ratios.
inline constexpr std::array<int, 5> kLooks = {10, 14, 20, 28, 40};

// Returns MeasurePairedShift at a level of 99 %, so that the intervals of all five looks cover the
// true shift with at least 95 %. The p-value is multiplied by the number of looks, so that it is
// valid although the looks decide when to stop. `error` [1] is for all looks together; a smaller
// error needs more blocks for the first interval. Returns nothing below kMinBlocks blocks.
std::optional<PairedShift> MeasureSequentialShift(const std::vector<double>& log_ratios,
                                                  double error = 0.05);

struct StopRule {
  int benchmarks = 1;        // [1] in the comparison
  double min_effect = 0.02;  // [1] 0.02: ratios from 1 / 1.02 to 1.02 are the same
};

// Returns whether the verdict is final: the interval is within the minimum effect, or the ratio is
// beyond it with a p-value of at most 1 % that remains significant after AdjustedPValues, whatever
// the other benchmarks show.
bool IsSettled(const PairedShift& paired, const StopRule& rule);

}  // namespace dlroof::statistics
