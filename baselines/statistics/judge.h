// Verdicts over all benchmarks of a comparison at once, from how each moved. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/statistics/common_shift.h"
#include "baselines/statistics/noise.h"
#include "baselines/statistics/shift.h"

namespace dlroof {

enum class Verdict {
  kSame,
  kFaster,
  kSlower,
  kAmbiguous,
  kInsufficient,
  kNew,
  kGone,
  kFailed,
  kUnsupported  // in both runs
};
const std::vector<Verdict>& AllVerdicts();
std::string_view Key(Verdict verdict);

struct Candidate {
  Shift shift;                           // of its seconds
  std::optional<double> roof_log_ratio;  // as in Movement
  std::optional<double> p_value = {};    // [1] of no change; absent: Student's, of the shift
};

struct JudgeSettings {
  std::optional<double> min_effect;  // [1] 0.05: ratios from 1 / 1.05 to 1.05 are alike
  std::optional<double> run_noise;   // [1] deviation between runs where it is known; 0: none
  std::vector<Shift> stored;         // between stored runs of this machine, for the noise
  bool look_for_common_shift = true;
  std::string run_noise_from = "as asked for";  // where run_noise is known from, for people
};

struct Judgement {
  Verdict verdict = Verdict::kAmbiguous;  // same, faster, slower or ambiguous
  std::string reason;                     // why ambiguous
  bool with_all = false;  // ambiguous only because nearly everything in the run moved like it
  double ratio = 1;       // [1] NEW / BASE
  std::pair<double, double> ci95;      // [1] of the ratio, noise within and between runs
  double p_value = 1, adjusted_p = 1;  // [1] of no change; adjusted for all benchmarks
};

struct Judged {
  std::vector<Judgement> each;  // in the order given
  double min_effect = 0;        // [1]
  std::string min_effect_from;
  RunNoise noise;
  std::optional<CommonShift> common;
};

inline constexpr double kFalseDiscoveryRate = 0.05;

// The interval: the distribution-free one within the runs, and Student's quantile of the noise and
// drift between them, each side's distances added in quadrature (Zou and Donner, Statistics in
// Medicine 27 (2008) 1693). The p-value: Student's, of the estimate over both errors, by Welch and
// Satterthwaite's degrees of freedom.
// slower, faster: the interval excludes 1, the p-value adjusted for all benchmarks (significance.h)
//   is at most kFalseDiscoveryRate, and the ratio lies beyond the minimum effect. Where a common
//   shift was found that the machine may have caused, so must the ratio with that shift taken out,
//   and where each run measured its roofs, the ratio to its roof time.
// same: the interval lies within the minimum effect, on both sides.
// ambiguous: anything between.
// The default minimum effect is what a typical benchmark of this comparison can both exclude and
// show: 1.96 + 1.28 standard errors (an unchanged one is `same` in 90 % of comparisons), but at
// least 2 % and at most 10 %.
Judged Judge(const std::vector<Candidate>& candidates, const JudgeSettings& settings);

}  // namespace dlroof
