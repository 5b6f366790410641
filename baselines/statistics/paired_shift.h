// By what factor NEW is slower than BASE where the two were measured by turns, block by block.
// Pure.
#pragma once

#include <optional>
#include <vector>

#include "baselines/statistics/shift.h"
#include "reporters/record/record.h"

namespace dlroof {

// The logarithm of NEW / BASE of each block, in the order of the blocks: the median over the
// windows of a block of which both sides are clean. Windows are paired in the order measured. A
// block of which fewer than half of the windows are left is left out.
std::vector<double> BlockLogRatios(const Record& base, const Record& fresh);

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

}  // namespace dlroof
