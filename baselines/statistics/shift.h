// The ratio of two samples of times, measured separately or interleaved, with its uncertainty;
// tails and quantiles of the normal and Student's t distributions; and adjusted p-values. Pure.
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
// Returns t with P(|T| > t) = 0.05. `degrees` of freedom are rounded down and clamped to 1 to 200,
// which can only widen intervals.
double StudentQuantile95(double degrees);

// Returns the adjusted p-values in the same order (Benjamini and Hochberg, Journal of the Royal
// Statistical Society B 57 (1995) 289). If all hypotheses with an adjusted p-value of at most q are
// rejected, the expected share of false rejections is below q for independent or positively
// dependent tests (Benjamini and Yekutieli, Annals of Statistics 29 (2001) 1165). Tests of one run
// depend positively, by its machine's state.
std::vector<double> AdjustedPValues(const std::vector<double>& p_values);

// Natural logarithm of NEW / BASE: a ratio of 1.05 is a shift of 0.0488, 1 / 1.05 is -0.0488.
struct Shift {
  double log_ratio = 0;            // [1] Hodges-Lehmann estimate: median of all differences
  std::pair<double, double> ci95;  // [1] distribution-free, at least 95 % within these samples
  double standard_error = 0;       // [1] from the interval's length (Lehmann)
  int degrees = 0;                 // [1] of freedom of the standard error: n + m - 2
  double cliffs_delta = 0;         // [1] P(new > base) - P(new < base), in [-1, 1]
};

// A run with fewer clean repetitions has no 95 % interval, and the verdict is `insufficient`.
inline constexpr int kMinClean = 4;

// Returns the shift of `contender` against `base`, both [s], in the order measured; nothing if a
// side has fewer than kMinClean values, or a value that is not positive.
//
// Estimate: Hodges and Lehmann, Annals of Mathematical Statistics 34 (1963) 598, on logarithms: the
// median ratio of all pairs of repetitions. It tolerates 20 % of outliers, and needs 5 % more
// repetitions than the mean for Gaussian noise. Interval: the order statistics of the n x m
// differences that the exact Mann-Whitney distribution allows (Hollander, Wolfe and Chicken,
// Nonparametric Statistical Methods, 4.3), with a coverage of at least 95 % for any distribution if
// repetitions are exchangeable but for the shift. Standard error: the interval's length divided by
// twice the normal quantile of its exact level (Lehmann, same journal, 34 (1963) 1507). Interval
// and error are of the noise WITHIN the two runs; RunNoise (judge.h) is that between runs.
std::optional<Shift> MeasureShift(const std::vector<double>& base,
                                  const std::vector<double>& contender);

// An interval from the `cut`-th smallest to the `cut`-th largest of n x m sorted differences.
struct IntervalRank {
  int cut = 0;          // [1] 1: from the smallest to the largest difference
  double level = 0;     // [1] coverage: exact up to 400 pairs, beyond by the normal approximation
  double quantile = 0;  // [1] of the standard normal distribution at (1 + level) / 2
};

// Returns the narrowest interval with a level of at least 95 % for samples of n and m values, if
// there is one (not for 3 and 4 values).
std::optional<IntervalRank> IntervalRank95(int n, int m);

// Several times of one benchmark, summarized by the normal distribution of their logarithm: of its
// clean repetitions, or of the aggregate (median or mean, deviation) that a file has instead.
struct TimeSummary {
  double log_seconds = 0;     // [1] logarithm of the median or mean time [s]
  double standard_error = 0;  // [1] of log_seconds
  double deviation = 0;       // [1] standard deviation of one repetition's logarithm
  int repetitions = 0;        // [1]
};

// Returns nullopt if the aggregate states no deviation, or if a time is not positive; without an
// aggregate also for fewer than kMinClean clean repetitions.
std::optional<TimeSummary> SummaryOf(const std::vector<record::Repetition>& repetitions);

// Returns the shift of two summaries, with the interval of Student's distribution.
Shift ShiftOfSummaries(const TimeSummary& base, const TimeSummary& contender);

// Returns the logarithm of NEW / BASE of each block, in the order of the blocks: the median over
// the block's windows that are clean on both sides, paired in the order measured. Leaves out blocks
// in which fewer than half of the windows are clean.
std::vector<double> BlockLogRatios(const record::Record& base, const record::Record& contender);

struct PairedShift {
  Shift shift;  // interval of at least `level`; cliffs_delta: share of slower minus share of faster
                // blocks
  double p_value = 1;  // [1] two-sided, of the hypothesis "no change"
};

// Fewer blocks have no 99 % interval, which one look (kLooks in judge.h) needs.
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

}  // namespace dlroof::statistics
