// Judges all benchmarks of a comparison together: which are slower, faster or the same relative to
// a shift that all of them share. Rules and formulas: statistics.md. Pure.
#pragma once

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/statistics/levels.h"
#include "baselines/statistics/shift.h"

namespace dlroof::statistics {

// Worst first.
enum class Verdict {
  kSlower,
  kFailed,
  kFaster,
  kAmbiguous,
  kInsufficient,
  kGone,
  kNew,
  kSame,
  kUnsupported  // unsupported in both runs
};
// In the order of Verdict.
inline constexpr std::array<std::string_view, 9> kVerdicts = {
    "slower", "failed", "faster", "ambiguous",  "insufficient",
    "gone",   "new",    "same",   "unsupported"};
inline std::string_view Key(Verdict verdict) {
  return kVerdicts.at(static_cast<std::size_t>(verdict));
}
inline bool IsChange(Verdict verdict) {
  return verdict == Verdict::kSlower || verdict == Verdict::kFaster;
}

// [1] Minimum number of benchmarks to distinguish a shift of all from changes of some.
inline constexpr std::size_t kMinForCommon = 20;
// [1] log 1.1: largest common shift removed as drift without evidence that the machine changed.
// Unchanged programs drift by 0 to 6 % between runs (baselines/studies/stored).
inline constexpr double kMaxDrift = 0.095;

// How both runs of a benchmark were measured; decides the assumed noise (BetweenOf in judge.cpp).
enum class Measured { kOneProcess, kProcesses, kDevice };

// The level of a benchmark in an earlier run on BASE's machine.
struct EarlierLevel {
  int run = 0;  // number of the run, the same for all its benchmarks; ascending with time
  Level level;
};

// [1] A change of the time is retracted if OtherMeasure shows at most this share of its log ratio.
inline constexpr double kMinInOther = 0.5;
// [1] From this wall time / CPU time on, a thread is taken to wait or to share its CPU.
inline constexpr double kMinWait = 1.2;

// A second measure of the same work, such as CPU time. A real change of the time shows in it, too.
struct OtherMeasure {
  double log_ratio = 0;    // [1] log(NEW / BASE)
  const char* name = "";   // e.g. "SM cycles"
  const char* cause = "";  // what may change the time but not this measure
};

struct Candidate {
  Level base, contender;
  std::vector<EarlierLevel> earlier = {};  // oldest first
  Measured measured = Measured::kOneProcess;
  int group = 0;         // benchmarks of one device in one pair of runs; a group has a common shift
  bool control = false;  // known to be unchanged
  std::optional<OtherMeasure> other = {};
  // Result of the exact test, if the comparison is interleaved.
  std::optional<Shift> interleaved = {};
};

// The typical shift of several benchmarks, controls (known to be unchanged) or ceilings.
struct JointShift {
  double log_ratio = 0, standard_error = 0;  // [1] of log(NEW / BASE)
  int count = 0;                             // [1] number of benchmarks, controls or ceilings

  double ratio() const { return std::exp(log_ratio); }
  std::pair<double, double> interval() const {  // [1] of the ratio, at 95 %
    return {std::exp(log_ratio - 1.96 * standard_error),
            std::exp(log_ratio + 1.96 * standard_error)};
  }
};

// The common shift of a group's benchmarks, and the shift removed from their ratios.
struct CommonShift {
  JointShift all;  // of the benchmarks; reliable if is_known()
  // How much slower the machine was in NEW, by the controls if there are any, else by the ceilings
  // that both runs measured. nullopt if there is neither.
  std::optional<JointShift> machine;
  bool by_controls = false;
  JointShift removed;  // the shift removed from the ratios
  // The benchmarks' and the machine's shift differ, so the program changed: `removed` is `machine`.
  bool is_of_program = false;
  // The shift exceeds the minimum effect and may be due to the program or the machine: the
  // comparison must not conclude that nothing is slower.
  bool is_unexplained = false;

  bool is_known() const { return all.count >= static_cast<int>(kMinForCommon); }
};

// Returns one or two lines for users: the common shift, e.g. "all 20 benchmarks together: slower
// 1.051 (1.048 to 1.054)", and whether it was removed from the ratios.
std::vector<std::string> Describe(const CommonShift& common);

struct JudgeSettings {
  std::optional<double> min_effect = {};  // [1] 0.05: 1 / 1.05 to 1.05 is same; unset: by noise
  std::optional<double> run_noise = {};   // [1] standard deviation between runs; unset: estimated
  bool look_for_common_shift = true;
  std::map<int, JointShift> machines = {};  // shifts of the ceilings; key: Candidate::group
  // BASE is the newest of several stored runs: a change is relative to their mean level and need
  // not show against BASE alone, and its reason says how many runs confirm it.
  bool window = false;
};

struct Judgement {
  Verdict verdict = Verdict::kAmbiguous;  // kSame, kFaster, kSlower or kAmbiguous
  std::string reason;                     // set for kAmbiguous, and for changes if `window`
  double ratio = 1;                       // [1] NEW / BASE
  std::pair<double, double> ci95;  // [1] of the ratio; includes noise within and between runs
  double p_value = 1;              // [1] two-sided, of no change
  double adjusted_p = 1;           // [1] one-sided, in the ratio's direction; over all benchmarks
  double removed = 1;              // [1] common shift (a factor) already removed from `ratio`
  int earlier_runs = 0;            // [1] number of earlier runs in BASE's level
  // [1] If `window`, for a change: number of newest runs, including NEW, at the changed level.
  int runs_since = 1;
  // The verdict is ambiguous, but the test alone finds the benchmark slower: the comparison must
  // not conclude that nothing is slower.
  bool is_suspect = false;
};

struct Judged {
  std::vector<Judgement> each;                        // in the candidates' order
  double false_discovery_rate = kFalseDiscoveryRate;  // [1] limit for slower, for faster verdicts
  double min_effect = 0;                              // [1]
  std::string min_effect_from;
  double run_noise = 0;  // [1] median standard deviation between runs, beyond that within runs
  std::string run_noise_from;
  // The shift of the group with the most benchmarks; an unexplained shift takes precedence.
  std::optional<CommonShift> common;
};

Judged Judge(const std::vector<Candidate>& candidates, const JudgeSettings& settings);

// Returns "unconfirmed, 1 run" for one run, else e.g. "confirmed by 3 runs".
std::string ConfirmedText(std::size_t runs);

struct Spread {
  double variance = 0, degrees = 0;
};

// Shrinks each benchmark's variance towards the typical one (the median over benchmarks, bias
// corrected): the own variance is weighted by its degrees of freedom, the typical one by twelve.
std::vector<Spread> Moderated(const std::vector<Spread>& own);

// A value with its squared standard error.
struct Estimate {
  double value = 0, variance = 0;
};

// The center of most values, and the scatter of the values beyond their own errors.
struct Centre {
  double value = 0, variance = 0;  // [1] the center and its squared standard error
  Spread between;                  // scatter of one value beyond its own variance
};

// Returns the weighted mean of the values within 2.5 standard deviations of the densest 40 %.
// `between` is the smaller result from the values above and those below the center: noise scatters
// ratios to both sides, a change of the program to one side only. Needs at least one value.
Centre CentreOf(const std::vector<Estimate>& values);

}  // namespace dlroof::statistics
