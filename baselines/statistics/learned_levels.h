// The level of one benchmark in BASE and NEW, and how much it varies from run to run, from all its
// known runs. Pure.
#pragma once

#include <map>
#include <vector>

#include "baselines/statistics/judge.h"
#include "baselines/statistics/robust.h"

namespace dlroof::statistics {

// The level of a benchmark in one run: the mean of the repetitions that are near their median.
struct RunLevel {
  double log_seconds = 0;  // [1] mean logarithm, without the run's factor
  double repetitions = 0;  // [1]
};

// What is known of one benchmark before the factor between BASE and NEW is taken out.
struct Levels {
  double log_ratio = 0;        // [1] NEW / BASE
  Spread repetition;           // variance of one repetition
  double memory = 0;           // [1] correlation of repetitions that follow each other
  double contender_count = 0;  // [1] repetitions of NEW behind log_ratio
  std::vector<RunLevel> base;  // BASE and the earlier runs that agree with it
  double within = 0;           // variance of log_ratio if only aggregates are known
  int earlier_runs = 0;        // [1] in `base`

  // Returns the variance of log_ratio; `between` is the variance of one run's level.
  double Variance(double repetition_variance, double between) const;
  // Returns the variance of the run levels beyond that of their repetitions, with the number of
  // runs - 1 as degrees of freedom; may be negative.
  Spread Between(double repetition_variance) const;
};

// Returns the factors of earlier runs against BASE, logarithms by run: the biweight location over
// all benchmarks of the device. Runs with fewer than four benchmarks in common have none: then what
// is learnt between runs contains the factor.
std::map<int, double> FactorsOfRuns(const std::vector<Candidate>& candidates, int device,
                                    double fastest_share);

// `fastest_share`: of repetitions by process, the part that counts. [1]
Levels LevelsOf(const Candidate& candidate, const std::map<int, double>& factors,
                double fastest_share);

}  // namespace dlroof::statistics
