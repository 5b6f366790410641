// Noise between two runs of an unchanged program, which their repetitions do not show. Neighbours,
// clock and page placement cause it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baselines/statistics/shift.h"

namespace dlroof {

struct RunNoise {
  double deviation = 0;  // [1] standard deviation of the logarithm of one run's time
  double degrees = 0;    // [1] of freedom behind it
  double drift = 0;      // [1] by which all benchmarks moved together, logarithm
  std::string from;      // where it was learnt, for people
};

// Between these the estimate is kept. The floor: four quiet runs of one program agree to 0.1 %, but
// not every hour is quiet. The cap: where most benchmarks changed one way, each by its own factor,
// their spread is no noise. Where as many became faster as slower it is: two CPUs that share a core
// were seen to halve each other's speed for seconds.
inline constexpr double kLeastRunNoise = 0.003, kMostRunNoise = 0.05, kMostNoiseBothWays = 0.5;
// Without evidence. Chosen between a quiet machine (0.001) and a shared one (0.02 and more).
inline constexpr double kUsualRunNoise = 0.01;
// Shifts that make evidence.
inline constexpr int kLeastShifts = 20;

// The deviation tau of one run that explains the spread of `shifts` around their median: that for
// which half of the squared distances lie below the median of chi-square over
// standard_error^2 + 2 tau^2 (the random-effects equation of Paule and Mandel, 1982, with a median
// for the mean, so that up to half of the benchmarks may have changed truly; taking it from the
// very comparison is the empirical null of Efron, JASA 99 (2004) 96). Beyond kMostRunNoise only as
// far as benchmarks that became slower and those that became faster, kLeastShifts / 2 of each at
// least, both tell it. Absent below kLeastShifts.
std::optional<double> DeviationBetweenRuns(const std::vector<Shift>& shifts);

// The larger of what stored runs of this machine differ by (`stored`, pairs of runs, pooled) and
// what the compared runs do; kUsualRunNoise where both are too few. The drift is the median of
// `compared`, at most 2 %: which part of it is the program's own nobody can tell.
RunNoise EstimateRunNoise(const std::vector<Shift>& stored, const std::vector<Shift>& compared);

}  // namespace dlroof
