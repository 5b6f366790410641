// Tails and quantiles of the normal and Student's t distribution, and the control of false
// discoveries. Pure.
//
// By what factor one sample of times is larger than another, apart or measured interleaved, and how
// sure that is. Pure.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof::statistics {

// P(Z > z), Z standard normal.
double NormalTail(double z);
// z with P(Z <= z) = probability, 0 < probability < 1; to 1e-9.
double NormalQuantile(double probability);

// P(|T| > t) of Student's t with `degrees` > 0 degrees of freedom; relative error below 1e-10.
double StudentTwoSided(double t, double degrees);
// t with P(|T| > t) = 0.05. `degrees` are rounded down, to at least 1 and at most 200, which errs
// on the wide side. Costs microseconds.
double StudentQuantile95(double degrees);

// Benjamini and Hochberg, Journal of the Royal Statistical Society B 57 (1995) 289: the adjusted
// p-value of each, in their order. Rejecting those of at most q keeps the expected share of false
// ones among the rejected below q, where the tests are independent or depend positively (Benjamini
// and Yekutieli, Annals of Statistics 29 (2001) 1165), as those of one run do through the state of
// its machine.
std::vector<double> AdjustedPValues(const std::vector<double>& p_values);

// Natural logarithm of NEW / BASE: a ratio of 1.05 is a shift of 0.0488, and of 1 / 1.05 -0.0488.
struct Shift {
  double log_ratio = 0;            // [1] Hodges-Lehmann estimate: median of all differences
  std::pair<double, double> ci95;  // [1] distribution-free, at least 95 % within these samples
  double standard_error = 0;       // [1] from the interval's length (Lehmann)
  int degrees = 0;                 // [1] of freedom of the standard error: n + m - 2
  double cliffs_delta = 0;         // [1] P(new > base) - P(new < base), in [-1, 1]
};

// Fewer positive values than this on a side carry no 95 % interval: verdict `insufficient`.
inline constexpr int kLeastClean = 4;

// The shift of `fresh` against `base`, both [s], in the order measured. Absent when a side has
// fewer than kLeastClean values, or one that is not positive.
//
// Estimate: Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963) 598, on logarithms: it
// gives the ratio that most pairs of repetitions show, a fifth of them may be wild, and needs 5 %
// more repetitions than the mean where noise is Gaussian. Interval: the order statistics of the
// n x m differences that the exact Mann-Whitney distribution allows (Hollander, Wolfe and Chicken,
// Nonparametric Statistical Methods, 4.3), coverage at least 95 % whatever the distribution, for
// repetitions that are exchangeable but for the shift. Standard error: the interval's length over
// twice the normal quantile of its exact level (Lehmann, same journal, 34 (1963) 1507).
// Both are of the noise WITHIN the two runs; what runs differ by is RunNoise (judge.h).
std::optional<Shift> MeasureShift(const std::vector<double>& base,
                                  const std::vector<double>& contender);

// The `cut` smallest and largest of n x m sorted differences lie outside the interval, which then
// covers with `level`.
struct IntervalRank {
  int cut = 0;          // [1] 1: from the smallest to the largest difference
  double level = 0;     // [1] exact up to 400 pairs, by the normal approximation beyond
  double quantile = 0;  // [1] of the standard normal distribution at (1 + level) / 2
};

// The narrowest with a level of at least 95 %; absent when there is none (3 and 4 values).
std::optional<IntervalRank> IntervalRank95(int n, int m);

// The logarithm of NEW / BASE of each block, in the order of the blocks: the median over the
// windows of a block of which both sides are clean. Windows are paired in the order measured. A
// block of which fewer than half of the windows are left is left out.
std::vector<double> BlockLogRatios(const record::Record& base, const record::Record& contender);

struct PairedShift {
  Shift shift;         // log_ratio, interval of at least `level`; cliffs_delta is the share of
                       // blocks that are slower less that of those that are faster
  double p_value = 1;  // [1] two-sided, of no change
};

// Fewer blocks than this carry no interval of 99 %, the level of one look (sequential.h).
inline constexpr int kLeastBlocks = 8;

// Wilcoxon's signed-rank test and the estimate and interval that belong to it: Hodges and Lehmann's
// median of all means of two, Tukey's interval of their order statistics (Hollander, Wolfe and
// Chicken, Nonparametric Statistical Methods, 3.1 to 3.3), with the exact distribution. Holds for
// blocks that are independent and, around the shift, as often above as below by as much: so it is
// where each block has fresh processes and the order of the two sides is drawn by chance. Absent
// where there are too few blocks for `level` [1].
std::optional<PairedShift> MeasurePairedShift(const std::vector<double>& log_ratios, double level);

// P(W <= w) for w = 0, 1, ..., n (n + 1) / 2: W is the sum of the ranks 1 to n whose sign is
// positive, each with probability 1/2.
std::vector<double> SignedRankCumulated(int n);

}  // namespace dlroof::statistics
