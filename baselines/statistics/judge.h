// Verdicts over all benchmarks of a comparison at once, from how each moved, beside the noise
// between runs and what moved them all. Pure.
//
// When enough blocks of an interleaved comparison were measured: a few looks, whose chances of a
// false alarm add up to what is allowed. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/statistics/shift.h"

namespace dlroof::statistics {

// Noise between two runs of an unchanged program, which their repetitions do not show. Neighbours,
// clock and page placement cause it.
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

// Evidence from the ceilings that each run measured.
enum class RoofEvidence { kNone, kMovedToo, kDidNotMove };

// A whole run that moved the same way by about the same factor: one cause, not one per benchmark.
struct CommonShift {
  double log_ratio = 0;              // [1] median over the benchmarks
  std::pair<double, double> middle;  // [1] quartiles of their log ratios
  int same_way = 0, benchmarks = 0;  // [1] those on the median's side, all
  RoofEvidence roofs = RoofEvidence::kNone;
  std::optional<double> roof_log_ratio;  // [1] median, with evidence
};

// One line for people: how many, by what factor, and what the ceilings say of the cause.
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
  std::optional<double> roof_log_ratio;  // of its roof time, where each run measured its own
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
  bool moved_with_run = false;  // ambiguous only because nearly everything in the run moved like it
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
