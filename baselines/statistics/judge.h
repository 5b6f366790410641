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
// [1] Assumed standard error of the ratio of two runs where too few benchmarks show it. Runs of one
// process drift by up to 5 %, of several by half of that (baselines/studies/stored), which must not
// be *slower* more often than once in a hundred pairs; those of a GPU's own times differ by 0.3 %
// (baselines/studies/gpu-a-a).
inline constexpr double kFloorOfOneProcess = 0.03, kFloorOfProcesses = 0.015,
                        kFloorOfDevice = 0.005;

// The level of one benchmark in an earlier run of BASE's machine.
struct EarlierLevel {
  int run = 0;  // equal for all benchmarks of the run; later runs have larger numbers
  Level level;
};

struct Candidate {
  Level base, contender;
  std::vector<EarlierLevel> earlier = {};  // oldest first
  double floor = kFloorOfOneProcess;       // [1] see above
  int device = 0;                          // benchmarks of a device share the run's shift
  // Of an interleaved comparison: its exact test.
  std::optional<PairedShift> interleaved = {};
};

// How much slower the machine itself was in the second run: what its ceilings say.
struct RoofShift {
  double log_ratio = 0;       // [1] median over the ceilings, of times
  double standard_error = 0;  // [1]
  int ceilings = 0;           // [1] measured in both runs
};

// What all benchmarks of a device did together, and what of it was taken out of their ratios.
struct CommonShift {
  double log_ratio = 0, standard_error = 0;  // [1] of the benchmarks, if they are kMinForCommon
  int benchmarks = 0;                        // [1]
  std::optional<RoofShift> roofs;            // ceilings that both runs measured
  double removed = 0, removed_error = 0;     // [1] logarithm
  // The ceilings did not move as the benchmarks did, so the program changed: only the ceilings'
  // shift was removed.
  bool is_of_program = false;
  // No ceiling tells whether the program or the machine changed, and the shift is surely beyond the
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
  std::map<int, RoofShift> roofs = {};  // by device
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
};

struct Judged {
  std::vector<Judgement> each;  // in the candidates' order
  double min_effect = 0;        // [1]
  std::string min_effect_from;
  double run_noise = 0;  // [1] median deviation of one run, beyond that of its repetitions
  std::string run_noise_from;
  std::optional<CommonShift> common;  // of the device with the most benchmarks
};

Judged Judge(const std::vector<Candidate>& candidates, const JudgeSettings& settings);

// A sample variance and its degrees of freedom.
struct Spread {
  double variance = 0, degrees = 0;
};

// Returns the variances moderated by those of all benchmarks, whose true variances are assumed to
// be scaled inverse chi-square (Smyth, Statistical Applications in Genetics and Molecular Biology 3
// (2004) 3, section 6.2).
std::vector<Spread> Moderated(const std::vector<Spread>& own);

// A value with its squared standard error.
struct Estimate {
  double value = 0, variance = 0;
};

// Where most of the values are, and how much they scatter beyond their errors.
struct Centre {
  double value = 0, variance = 0;  // [1], of `value`
  double between = 0;              // variance of one value beyond its own
  double inside = 0;               // [1] values that count
};

// Takes the mean of the values within 2.5 standard errors of the centre, for the least `between`
// for which they scatter as a normal distribution does that is cut there (reweighting as of
// Rousseeuw and Leroy, Robust Regression, 1987; between as of Paule and Mandel, 1982), from 0 or,
// if that explains the values better, from the middle of their shortest half. Up to 30 % of the
// values may be elsewhere, or 60 % if all scatter by more than kFloorOfOneProcess and the others
// then by less than a quarter. But if at least ten and a tenth are beyond on each side, and at most
// twice as many on one as on the other, they are noise, not changes: two CPUs that share a core
// were seen to halve each other's speed for seconds. Then `between` is that of the side with fewer
// of them. At least one value.
Centre CentreOf(const std::vector<Estimate>& values);

}  // namespace dlroof::statistics
