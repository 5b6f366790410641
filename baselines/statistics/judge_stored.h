// Verdicts on two runs that were not measured interleaved: the factor of each run is estimated and
// taken out, and the noise that is left between runs is learnt from earlier runs, or else from the
// other benchmarks. Pure.
#pragma once

#include <vector>

#include "baselines/statistics/judge.h"

namespace dlroof::statistics {

// Returns whether JudgeStored applies: a candidate has its times, no noise was prescribed, and a
// common shift is looked for.
bool IsForStored(const std::vector<Candidate>& candidates, const JudgeSettings& settings);

// Judges each candidate as Judge does (judge.h), with these differences:
//   ratio: of the means of logarithms (repetitions far from their run's median left out), divided
//     by the run's factor; BASE's level includes the earlier runs whose level agrees.
//   factor: Tukey's biweight over the other benchmarks of the same device (kMinShifts of them or
//     more), combined with the ceilings that both runs measured. If both are known and disagree,
//     the program and not the machine changed, and only the ceilings' factor is removed. Without
//     ceilings, a factor above kMaxDrift is not removed: all benchmarks are judged as they are. A
//     smaller one is removed and reported as Judged::common: program or machine.
//   error: variances of repetitions, moderated by those of the other benchmarks (Smyth 2004); of
//     the noise between runs, per benchmark from earlier runs and shrunk to the mean of all
//     benchmarks; of the factor. Student's t, Welch and Satterthwaite's degrees of freedom.
//   chance: one-sided p-values, weighted by how well a benchmark could show a change of 3.5 % and
//     1.7 to 0.3 in favour of slowdowns (Genovese, Roeder and Wasserman, Biometrika 93 (2006) 509),
//     in the procedure of Benjamini and Hochberg at kFalseDiscoveryRate.
Judged JudgeStored(const std::vector<Candidate>& candidates, const JudgeSettings& settings);

// [1] Logarithm: a larger factor of a run is removed only if its ceilings moved, too. Runs of an
// unchanged program on one machine drift by 0 to 6 % (baselines/studies/stored).
inline constexpr double kMaxDrift = 0.095;  // 10 %
// [1] A sure change counts from here on.
inline constexpr double kMinChange = 0.015;

}  // namespace dlroof::statistics
