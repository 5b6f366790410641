// Judges all benchmarks of a comparison together, by their shifts, the noise between runs, and a
// common shift of the whole run; and the stopping rule of interleaved comparisons: a few tests
// whose false-alarm probabilities add up to the allowed error. Pure.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/statistics/process_levels.h"
#include "baselines/statistics/shift.h"

namespace dlroof::statistics {

// Noise between two runs of an unchanged program, which is not visible within either run. Other
// programs, the clock and page placement cause it.
struct RunNoise {
  double deviation = 0;  // [1] standard deviation of the logarithm of one run's time
  double degrees = 0;    // [1] degrees of freedom of `deviation`
  double drift = 0;      // [1] logarithm of the factor by which all benchmarks moved
  std::string from;      // source of the estimate, for people
};

// Limits of an estimated RunNoise::deviation [1]. The least: four runs on a quiet machine agree to
// 0.1 %, but machines are not always quiet. The most: if most benchmarks changed in one direction,
// each by its own factor, their spread is not noise. It is noise if as many became faster as
// slower: two CPUs that share a core were observed to halve each other's speed for seconds.
inline constexpr double kMinRunNoise = 0.003, kMaxRunNoise = 0.05, kMaxNoiseBothWays = 0.5;
// [1] Assumed deviation if there are too few shifts to estimate it: between that of a quiet machine
// (0.001) and of a shared one (0.02 and more).
inline constexpr double kUsualRunNoise = 0.01;
// [1] With fewer shifts the run noise is not estimated.
inline constexpr int kMinShifts = 20;

// Returns the deviation tau of one run that explains the spread of `shifts` around their median:
// half of the squared distances from the median are below the median of chi-square times
// standard_error^2 + 2 tau^2. This is the random-effects equation of Paule and Mandel (1982) with a
// median instead of the mean, so that up to half of the benchmarks may have changed truly; an
// estimate from the comparison itself is the empirical null of Efron, JASA 99 (2004) 96. tau
// exceeds kMaxRunNoise only if at least kMinShifts / 2 benchmarks became slower, as many became
// faster, and both groups show it. Returns nothing for fewer than kMinShifts shifts.
std::optional<double> DeviationBetweenRuns(const std::vector<Shift>& shifts);

// Returns the larger of two estimates of the noise: between stored runs of this machine (`stored`
// has the shifts of all pairs of runs) and between the two compared runs. Returns kUsualRunNoise if
// both have too few shifts, or `usual` in its place. The drift is the absolute median of
// `compared`, at most 2 %.
RunNoise EstimateRunNoise(const std::vector<Shift>& stored, const std::vector<Shift>& compared,
                          double usual = kUsualRunNoise);

// Whether the machine's ceilings, which each run measured, moved together with a common shift.
enum class RoofEvidence { kNone, kMovedToo, kDidNotMove };

// A shift of a whole run: most benchmarks moved in one direction by similar factors. It has one
// cause, not one per benchmark.
struct CommonShift {
  double log_ratio = 0;              // [1] median log ratio of the benchmarks
  std::pair<double, double> middle;  // [1] quartiles of their log ratios
  int same_way = 0, benchmarks = 0;  // [1] moved in the median's direction; all
  RoofEvidence roofs = RoofEvidence::kNone;
  std::optional<double> roof_log_ratio;  // [1] median, unless `roofs` is kNone
  double standard_error = 0;             // [1] of log_ratio
  // No ceiling tells whether the program or the machine changed, and the shift is surely beyond the
  // minimum effect: a comparison with it cannot end in "nothing is slower".
  bool is_unexplained = false;
};

// Returns a line of text: how many benchmarks moved, by what factor, and whether the ceilings did.
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

// The clean repetitions, or those by process, of one benchmark in an earlier run of BASE's machine.
struct EarlierTimes {
  int run = 0;               // equal for all benchmarks of the run; later runs have larger numbers
  std::vector<double> logs;  // [1] logarithms of the times
  ProcessLogs processes = {};  // of all repetitions, if at least kMinProcesses measured it
};

struct Candidate {
  Shift shift;                           // of its seconds
  std::optional<double> roof_log_ratio;  // [1] of its roof time, if each run measured it
  std::optional<double> p_value = {};    // [1] of no change; computed from `shift` if not set
  // [1] Logarithms of the clean times behind `shift`; empty if only aggregates are known.
  std::vector<double> base_logs = {}, contender_logs = {};
  // All repetitions by process, if both runs measured the benchmark in at least kMinProcesses
  // processes: then it is judged by the mean of the fastest part (FastestLevel).
  ProcessPair processes = {};
  std::vector<EarlierTimes> earlier = {};  // oldest first
  int device = 0;                          // benchmarks of a device share the run's factor
};

// How much slower the machine itself was in the second run: what its ceilings say.
struct RoofShift {
  double log_ratio = 0;       // [1] median over the ceilings, of times
  double standard_error = 0;  // [1]
  int ceilings = 0;           // [1] measured in both runs
};

// The factor of the whole run that was taken out of the ratios.
struct RemovedFactor {
  double log_ratio = 0, standard_error = 0;  // [1]
  int benchmarks = 0, ceilings = 0;          // [1] it was estimated from
  // Set if the ceilings say that the machine did not move as the benchmarks did: then only the
  // ceilings' factor was removed.
  bool by_ceilings = false;
  // Set if nothing tells the factor: it is 1 with the assumed error.
  bool assumed = false;

  std::pair<double, double> Interval() const;  // [1] 95 %, of the factor
};

// Returns "1.031 (1.029 to 1.033), which 300 benchmarks and 6 ceilings share".
std::string Describe(const RemovedFactor& removed);

struct JudgeSettings {
  std::optional<double> min_effect;  // [1] 0.05: ratios from 1 / 1.05 to 1.05 are the same
  std::optional<double> run_noise;   // [1] deviation between runs, if known
  std::vector<Shift> stored;         // between stored runs of this machine, to estimate the noise
  double usual_noise = kUsualRunNoise;  // [1] deviation between runs if it cannot be estimated
  bool look_for_common_shift = true;
  std::map<int, RoofShift> roofs = {};            // by device
  double fastest_share = kFastestShares.front();  // [1] of the candidates with processes
  std::string run_noise_from = "as asked for";    // source of run_noise, for people
};

struct Judgement {
  Verdict verdict = Verdict::kAmbiguous;  // same, faster, slower or ambiguous
  std::string reason;                     // set for ambiguous
  bool moved_with_run = false;            // ambiguous only because of a common shift of its run
  double ratio = 1;                       // [1] NEW / BASE
  std::pair<double, double> ci95;  // [1] of the ratio; includes the noise within and between runs
  double p_value = 1, adjusted_p = 1;  // [1] of no change; adjusted over all benchmarks
  // [1] The factor of the run that `ratio` no longer contains, if one was taken out.
  std::optional<double> removed = {};
  int earlier_runs = 0;  // [1] whose times were used beside those of BASE
};

struct Judged {
  std::vector<Judgement> each;  // in the candidates' order
  double min_effect = 0;        // [1]
  std::string min_effect_from;
  RunNoise noise;
  std::optional<CommonShift> common;
  std::optional<RemovedFactor> removed;  // of the most benchmarks
};

inline constexpr double kFalseDiscoveryRate = 0.05;

// Returns why a ratio is ambiguous, without the benchmark's own numbers, so that reports can group
// equal reasons.
std::string IntervalReason(bool beyond, bool includes_one, double min_effect);

// Judges each candidate: by JudgeStored (judge_stored.h) if their times are known and the noise is
// not prescribed, otherwise as follows. The interval of its ratio combines the distribution-free
// interval within the runs with Student's quantile of noise and drift between runs; their
// half-widths are added in quadrature (Zou and Donner, Statistics in Medicine 27 (2008) 1693). The
// p-value is that of Student's test of the shift divided by the combined error, with Welch and
// Satterthwaite's degrees of freedom. Verdicts:
//   slower, faster: the interval excludes 1, the p-value adjusted over all benchmarks (shift.h) is
//     at most kFalseDiscoveryRate, and the ratio is beyond the minimum effect. The same must hold
//     for the ratio without a common shift that the machine may have caused, and for the ratio to
//     the roof time if each run measured its roofs.
//   same: the interval is within the minimum effect on both sides.
//   ambiguous: everything else.
// The default minimum effect is 1.96 + 1.28 standard errors of a typical benchmark (an unchanged
// one is `same` in 90 % of comparisons), at least 2 % and at most 10 %.
Judged Judge(const std::vector<Candidate>& candidates, const JudgeSettings& settings);

// [1] Numbers of clean blocks at which an interleaved comparison is tested ("looks"). Tests of
// growing data eventually find a difference in anything, so there are at most five, each with a
// fifth of the allowed error (alpha spending, Lan and DeMets, Biometrika 70 (1983) 659, by
// Bonferroni's inequality, which holds for any dependence). A test may come early when the time
// budget is spent, but must not depend on the ratios.
inline constexpr std::array<int, 5> kLooks = {10, 14, 20, 28, 40};

// Returns MeasurePairedShift at a level of 99 %, so that the intervals of all five looks cover the
// true shift with at least 95 %. The p-value is multiplied by the number of looks, so that it is
// valid although the looks decide when to stop. `error` [1] is for all looks together; a smaller
// error needs more blocks for the first interval. Returns nothing below kMinBlocks blocks.
std::optional<PairedShift> MeasureSequentialShift(const std::vector<double>& log_ratios,
                                                  double error = 0.05);

// The shift of an interleaved comparison, from the records of its two files.
struct BlocksShift {
  std::optional<PairedShift> paired;  // absent if too few blocks are clean
  std::size_t clean_blocks = 0;       // [1] at least half of their windows are clean
  // [1] Share of all windows whose mean was compared, the fastest ones; absent if the ratios of the
  // blocks were compared.
  std::optional<double> fastest_share;
};

// [1] With fewer blocks only their ratios are compared.
inline constexpr std::size_t kMinBlocksOfLevels = 20;

// Returns MeasureSequentialShift of the blocks' ratios, or ShiftOfProcesses of the fastest windows
// of all blocks, whichever is known better: the second from kMinBlocksOfLevels blocks on, if its
// standard error is less than half of the first one's. That is so where other programs run nearly
// all the time. Interval and p-value of both allow for kLooks tests. The ratio itself has no
// influence on the choice.
BlocksShift MeasureBlocks(const record::Record& base, const record::Record& contender);

struct StopRule {
  int benchmarks = 1;        // [1] in the comparison
  double min_effect = 0.02;  // [1] 0.02: ratios from 1 / 1.02 to 1.02 are the same
};

// Returns whether the verdict is final: the interval is within the minimum effect, or the ratio is
// beyond it with a p-value of at most 1 % that remains significant after AdjustedPValues, whatever
// the other benchmarks show.
bool IsSettled(const PairedShift& paired, const StopRule& rule);

}  // namespace dlroof::statistics
