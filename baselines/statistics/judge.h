// Verdicts over all benchmarks of a comparison together, from how each moved, the noise between
// runs, and a shift of the whole run; and the stopping rule of an interleaved comparison: a few
// looks whose false-alarm probabilities add up to the allowed error. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/statistics/shift.h"

namespace dlroof::statistics {

// Noise between two runs of an unchanged program, which their repetitions do not show. It is caused
// by other programs, the clock and page placement.
struct RunNoise {
  double deviation = 0;  // [1] standard deviation of the logarithm of one run's time
  double degrees = 0;    // [1] of freedom of that estimate
  double drift = 0;      // [1] by which all benchmarks moved together, logarithm
  std::string from;      // source of the estimate, for people
};

// Limits of the estimate. The floor: four quiet runs of one program agree to 0.1 %, but machines
// are not always quiet. The cap: if most benchmarks changed in one direction, each by its own
// factor, their spread is not noise. If as many became faster as slower, it is: two CPUs that share
// a core were observed to halve each other's speed for seconds.
inline constexpr double kLeastRunNoise = 0.003, kMostRunNoise = 0.05, kMostNoiseBothWays = 0.5;
// The assumption without evidence, between a quiet machine (0.001) and a shared one (0.02 and
// more).
inline constexpr double kUsualRunNoise = 0.01;
// The number of shifts that are evidence.
inline constexpr int kLeastShifts = 20;

// Returns the deviation tau of one run that explains the spread of `shifts` around their median:
// the tau for which half of the squared distances are below the median of chi-square times
// standard_error^2 + 2 tau^2 (the random-effects equation of Paule and Mandel, 1982, with a median
// instead of the mean, so that up to half of the benchmarks may have changed truly; estimating it
// from the comparison itself is the empirical null of Efron, JASA 99 (2004) 96). It exceeds
// kMostRunNoise only as far as both the benchmarks that became slower and those that became faster
// show it, with at least kLeastShifts / 2 of each. Returns nothing below kLeastShifts.
std::optional<double> DeviationBetweenRuns(const std::vector<Shift>& shifts);

// Returns the larger of the noise between stored runs of this machine (`stored`: pooled over pairs
// of runs) and that between the compared runs, or kUsualRunNoise if both have too few shifts. The
// drift is the median of `compared`, at most 2 %: it cannot be told apart from a change of the
// program.
RunNoise EstimateRunNoise(const std::vector<Shift>& stored, const std::vector<Shift>& compared);

// What the ceilings that each run measured say about the cause of a common shift.
enum class RoofEvidence { kNone, kMovedToo, kDidNotMove };

// A shift of a whole run: most benchmarks moved in one direction by similar factors. It has one
// cause, not one per benchmark.
struct CommonShift {
  double log_ratio = 0;              // [1] median over the benchmarks
  std::pair<double, double> middle;  // [1] quartiles of their log ratios
  int same_way = 0, benchmarks = 0;  // [1] those on the median's side, all
  RoofEvidence roofs = RoofEvidence::kNone;
  std::optional<double> roof_log_ratio;  // [1] median, unless `roofs` is kNone
};

// Returns a line for people: how many moved, by what factor, and what the ceilings say of the
// cause.
std::string Describe(const CommonShift& common);

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
  std::optional<double> roof_log_ratio;  // [1] of its roof time, if each run measured its own
  std::optional<double> p_value = {};    // [1] of no change; Student's of the shift if not set
};

struct JudgeSettings {
  std::optional<double> min_effect;  // [1] 0.05: ratios from 1 / 1.05 to 1.05 are the same
  std::optional<double> run_noise;   // [1] deviation between runs, if known
  std::vector<Shift> stored;         // between stored runs of this machine, for the noise
  bool look_for_common_shift = true;
  std::string run_noise_from = "as asked for";  // source of run_noise, for people
};

struct Judgement {
  Verdict verdict = Verdict::kAmbiguous;  // same, faster, slower or ambiguous
  std::string reason;                     // set for ambiguous
  bool moved_with_run = false;  // ambiguous only because nearly all of the run moved the same way
  double ratio = 1;             // [1] NEW / BASE
  std::pair<double, double> ci95;      // [1] of the ratio, noise within and between runs
  double p_value = 1, adjusted_p = 1;  // [1] of no change; adjusted over all benchmarks
};

struct Judged {
  std::vector<Judgement> each;  // in the candidates' order
  double min_effect = 0;        // [1]
  std::string min_effect_from;
  RunNoise noise;
  std::optional<CommonShift> common;
};

inline constexpr double kFalseDiscoveryRate = 0.05;

// The interval combines the distribution-free one within the runs and Student's quantile of noise
// and drift between them; each side's distances are added in quadrature (Zou and Donner, Statistics
// in Medicine 27 (2008) 1693). The p-value is Student's, of the estimate over both errors, with
// Welch and Satterthwaite's degrees of freedom.
// slower, faster: the interval excludes 1, the p-value adjusted over all benchmarks (shift.h) is at
//   most kFalseDiscoveryRate, and the ratio is beyond the minimum effect. If there is a common
//   shift that the machine may have caused, the same must hold for the ratio without that shift;
//   and if each run measured its roofs, for the ratio to its roof time.
// same: the interval is within the minimum effect on both sides.
// ambiguous: everything else.
// The default minimum effect is what a typical benchmark of this comparison can both exclude and
// show: 1.96 + 1.28 standard errors (an unchanged one is `same` in 90 % of comparisons), at least
// 2 % and at most 10 %.
Judged Judge(const std::vector<Candidate>& candidates, const JudgeSettings& settings);

// Repeated looks at growing data eventually find a difference in anything. So there are at most
// five looks, when this many blocks are clean, and each has a fifth of the allowed error (alpha
// spending, Lan and DeMets, Biometrika 70 (1983) 659, by Bonferroni's inequality, which holds for
// any dependence between the looks). A look may come early when the time budget is spent, but that
// must not depend on the ratios.
inline constexpr std::array<int, 5> kLooks = {10, 14, 20, 28, 40};

// Like MeasurePairedShift at a level of 99 % for each look, so that the five intervals together
// cover with at least 95 %. The p-value is multiplied by the number of looks, so that it is valid
// although the looks decide when to stop. `error` [1] is for all looks together; a smaller one
// needs more blocks for the first interval. Returns nothing below kLeastBlocks.
std::optional<PairedShift> MeasureSequentialShift(const std::vector<double>& log_ratios,
                                                  double error = 0.05);

struct StopRule {
  int benchmarks = 1;        // [1] compared at once
  double min_effect = 0.02;  // [1] 0.02: ratios from 1 / 1.02 to 1.02 are the same
};

// Returns whether more blocks would not change the verdict: the interval is within the minimum
// effect, or the ratio is beyond it with a p-value of at most 1 % that survives the control of
// false discoveries (shift.h) whatever the other benchmarks show.
bool IsSettled(const PairedShift& paired, const StopRule& rule);

}  // namespace dlroof::statistics
