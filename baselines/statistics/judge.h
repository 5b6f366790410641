// Judges all benchmarks of a comparison together: which are slower, faster or the same, beside a
// common shift of the whole run. The rules with their formulas: statistics.md. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/statistics/levels.h"
#include "baselines/statistics/shift.h"

namespace dlroof::statistics {

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
inline bool IsChange(Verdict verdict) {
  return verdict == Verdict::kSlower || verdict == Verdict::kFaster;
}

// [1] Fewer benchmarks cannot tell a shift of all from the changes of some.
inline constexpr std::size_t kMinForCommon = 20;
// [1] Logarithm: a larger shift of all benchmarks is not removed without evidence. Runs of an
// unchanged program on one machine drift by 0 to 6 % (baselines/studies/stored).
inline constexpr double kMaxDrift = 0.095;

// How both runs of a benchmark were measured, which decides what is assumed of the noise between
// runs (AssumedOf in judge.cpp).
enum class Measured { kOneProcess, kProcesses, kDevice };

// The level of one benchmark in an earlier run of BASE's machine.
struct EarlierLevel {
  int run = 0;  // equal for all benchmarks of the run; later runs have larger numbers
  Level level;
};

struct Candidate {
  Level base, contender;
  std::vector<EarlierLevel> earlier = {};  // oldest first
  Measured measured = Measured::kOneProcess;
  int group = 0;         // benchmarks of one device in one pair of runs share the shift of all
  bool control = false;  // known as unchanged
  // Of an interleaved comparison: its exact test.
  std::optional<PairedShift> interleaved = {};
};

// How much slower the machine itself was in the second run, by its ceilings or by controls.
struct MachineShift {
  double log_ratio = 0;       // [1] of times
  double standard_error = 0;  // [1]
  int count = 0;              // [1] ceilings measured in both runs, or controls
  std::string_view what = "ceilings that both runs measured";
};

// What all benchmarks of a group did together, and what of it was taken out of their ratios.
struct CommonShift {
  double log_ratio = 0, standard_error = 0;  // [1] of the benchmarks, if they are kMinForCommon
  int benchmarks = 0;                        // [1]
  std::optional<MachineShift> machine;
  double removed = 0, removed_error = 0;  // [1] logarithm
  // The machine did not move as the benchmarks did, so the program changed: only the machine's
  // shift was removed.
  bool is_of_program = false;
  // Nothing tells whether the program or the machine changed, and the shift is surely beyond the
  // minimum effect: a comparison with it cannot end in "nothing is slower".
  bool is_unexplained = false;

  bool is_known() const { return benchmarks >= static_cast<int>(kMinForCommon); }
};

// Returns lines for people: "all 20 benchmarks together: slower 1.051 (1.048 to 1.054)", and what
// was taken out of the ratios.
std::vector<std::string> Describe(const CommonShift& common);

struct JudgeSettings {
  std::optional<double> min_effect = {};  // [1] 0.05: ratios from 1 / 1.05 to 1.05 are the same
  std::optional<double> run_noise = {};   // [1] deviation between runs, if known
  bool look_for_common_shift = true;
  std::map<int, MachineShift> machines = {};  // by group
  // BASE is no run of its own, but the level of the window of the earlier runs and BASE.
  bool window = false;
};

struct Judgement {
  Verdict verdict = Verdict::kAmbiguous;  // same, faster, slower or ambiguous
  std::string reason;                     // set for ambiguous, and changes against a window
  double ratio = 1;                       // [1] NEW / BASE
  std::pair<double, double> ci95;  // [1] of the ratio; includes the noise within and between runs
  double p_value = 1;              // [1] of no change, two-sided
  double adjusted_p = 1;  // [1] one-sided, of no change in this direction; over all benchmarks
  double removed = 1;     // [1] the common shift that `ratio` no longer contains
  int earlier_runs = 0;   // [1] whose levels were used beside that of BASE
  // Ambiguous, though the test finds it slower: such a comparison cannot end in "nothing is
  // slower".
  bool is_suspect = false;
};

struct Judged {
  std::vector<Judgement> each;  // in the candidates' order
  double min_effect = 0;        // [1]
  std::string min_effect_from;
  double run_noise = 0;  // [1] median deviation of one run, beyond that of its repetitions
  std::string run_noise_from;
  // Of the largest group, or of the largest one whose shift is unexplained.
  std::optional<CommonShift> common;
};

Judged Judge(const std::vector<Candidate>& candidates, const JudgeSettings& settings);

// A sample variance and its degrees of freedom.
struct Spread {
  double variance = 0, degrees = 0;
};

// Returns the variances moderated by that of all benchmarks: a benchmark's own counts with its
// degrees of freedom, the typical one (the median, corrected for its bias) with twelve.
std::vector<Spread> Moderated(const std::vector<Spread>& own);

// A value with its squared standard error.
struct Estimate {
  double value = 0, variance = 0;
};

// Where most of the values are, and how much they scatter beyond their errors.
struct Centre {
  double value = 0, variance = 0;  // [1], of `value`
  double between = 0;              // variance of one value beyond its own
};

// Returns the mean of the values within 2.5 deviations of the shortest interval that has 40 % of
// them; of two about as short, of the one nearest to 0. `between` is what three quarters
// of the values on one side of the centre need to be as near as normal ones, of the side on which
// they scatter less: noise makes BASE slower as often as NEW, but a change of the program moves its
// benchmarks to one side. At least one value.
Centre CentreOf(const std::vector<Estimate>& values);

}  // namespace dlroof::statistics
