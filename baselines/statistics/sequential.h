// When enough blocks of an interleaved comparison were measured: a few looks, whose chances of a
// false alarm add up to what is allowed. Pure.
#pragma once

#include <array>
#include <vector>

#include "baselines/statistics/shift.h"

namespace dlroof::statistics {

// Looking at the data again and again until they please finds a difference in anything. So there
// are at most five looks, when this many blocks are clean, and each has a fifth of the error that
// is allowed (spending of alpha, Lan and DeMets, Biometrika 70 (1983) 659, by Bonferroni's
// inequality, which holds however the looks depend on each other). A look may come early, when the
// time is over: that must not depend on the ratios.
inline constexpr std::array<int, 5> kLooks = {10, 14, 20, 28, 40};

// As MeasurePairedShift at a level of 99 % for each look, so that the five intervals cover together
// with at least 95 %. The p-value is multiplied by the number of looks, so it
// keeps its meaning although the looks decide when to stop. Absent below kLeastBlocks. `error` [1]:
// that of all looks together; the smaller it is, the more blocks the first interval needs.
std::optional<PairedShift> MeasureSequentialShift(const std::vector<double>& log_ratios,
                                                  double error = 0.05);

struct StopRule {
  int benchmarks = 1;        // [1] that are compared at once
  double min_effect = 0.02;  // [1] 0.02: ratios from 1 / 1.02 to 1.02 are alike
};

// Returns whether more blocks would not change the verdict. Either the interval lies within the
// minimum effect, or the ratio lies beyond it. Then its p-value is at most 1 % and survives the
// control of false discoveries (judge.h), whatever the other benchmarks show.
bool IsSettled(const PairedShift& paired, const StopRule& rule);

}  // namespace dlroof::statistics
