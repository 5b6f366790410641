// The factor between two samples of times, measured separately or interleaved, with its
// uncertainty; tails and quantiles of the normal and Student's t distribution; and the control of
// false discoveries. Pure.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof::statistics {

// Returns P(Z > z), Z standard normal.
double NormalTail(double z);
// Returns z with P(Z <= z) = probability, 0 < probability < 1; to 1e-9.
double NormalQuantile(double probability);

// Returns P(|T| > t) of Student's t with `degrees` > 0 of freedom; relative error below 1e-10.
double StudentTwoSided(double t, double degrees);
// Returns t with P(|T| > t) = 0.05. `degrees` are rounded down, to at least 1 and at most 200,
// which makes intervals wider rather than narrower. Costs microseconds.
double StudentQuantile95(double degrees);

// Returns the adjusted p-values in the same order (Benjamini and Hochberg, Journal of the Royal
// Statistical Society B 57 (1995) 289). Rejecting those of at most q keeps the expected share of
// false rejections below q if the tests are independent or positively dependent (Benjamini and
// Yekutieli, Annals of Statistics 29 (2001) 1165), as those of one run are through the state of its
// machine.
std::vector<double> AdjustedPValues(const std::vector<double>& p_values);

// Natural logarithm of NEW / BASE: a ratio of 1.05 is a shift of 0.0488, 1 / 1.05 is -0.0488.
struct Shift {
  double log_ratio = 0;            // [1] Hodges-Lehmann estimate: median of all differences
  std::pair<double, double> ci95;  // [1] distribution-free, at least 95 % within these samples
  double standard_error = 0;       // [1] from the interval's length (Lehmann)
  int degrees = 0;                 // [1] of freedom of the standard error: n + m - 2
  double cliffs_delta = 0;         // [1] P(new > base) - P(new < base), in [-1, 1]
};

// A side with fewer positive values has no 95 % interval: verdict `insufficient`.
inline constexpr int kLeastClean = 4;

// Returns the shift of `contender` against `base`, both [s], in the order measured; nothing if a
// side has fewer than kLeastClean values, or a value that is not positive.
//
// Estimate: Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963) 598, on logarithms: the
// median ratio of all pairs of repetitions. It tolerates a fifth of outliers, and needs 5 % more
// repetitions than the mean for Gaussian noise. Interval: the order statistics of the n x m
// differences that the exact Mann-Whitney distribution allows (Hollander, Wolfe and Chicken,
// Nonparametric Statistical Methods, 4.3), with a coverage of at least 95 % for any distribution if
// repetitions are exchangeable but for the shift. Standard error: the interval's length over twice
// the normal quantile of its exact level (Lehmann, same journal, 34 (1963) 1507). Interval and
// error are of the noise WITHIN the two runs; RunNoise (judge.h) is that between runs.
std::optional<Shift> MeasureShift(const std::vector<double>& base,
                                  const std::vector<double>& contender);

// The interval excludes the `cut` smallest and largest of n x m sorted differences, and covers with
// `level`.
struct IntervalRank {
  int cut = 0;          // [1]; 1 keeps the range from the smallest to the largest difference
  double level = 0;     // [1] exact up to 400 pairs, by the normal approximation beyond
  double quantile = 0;  // [1] of the standard normal distribution at (1 + level) / 2
};

// Returns the narrowest interval with a level of at least 95 %, if there is one (not for 3 and 4).
std::optional<IntervalRank> IntervalRank95(int n, int m);

// Returns the logarithm of NEW / BASE of each block, in the order of the blocks: the median over
// the block's windows that are clean on both sides, paired in the order measured. Blocks with fewer
// than half of their windows clean are left out.
std::vector<double> BlockLogRatios(const record::Record& base, const record::Record& contender);

struct PairedShift {
  Shift shift;         // interval of at least `level`; cliffs_delta is the share of slower blocks
                       // less that of faster ones
  double p_value = 1;  // [1] two-sided, of no change
};

// Fewer blocks have no interval of 99 %, the level of one look (judge.h).
inline constexpr int kLeastBlocks = 8;

// Wilcoxon's signed-rank test with its estimate and interval: Hodges and Lehmann's median of all
// pairwise means, Tukey's interval of their order statistics (Hollander, Wolfe and Chicken,
// Nonparametric Statistical Methods, 3.1 to 3.3), with the exact distribution. Assumes that blocks
// are independent and symmetric around the shift, which holds if each block has new processes and
// the order of the two sides is random. Returns nothing if there are too few blocks for `level`
// [1].
std::optional<PairedShift> MeasurePairedShift(const std::vector<double>& log_ratios, double level);

// Returns P(W <= w) for w = 0, 1, ..., n (n + 1) / 2: W is the sum of the ranks 1 to n with
// positive sign, each with probability 1/2.
std::vector<double> SignedRankCumulated(int n);

}  // namespace dlroof::statistics
