#include "baselines/statistics/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "baselines/statistics/series_profile.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"

namespace dlroof::statistics {
namespace {

constexpr KeyRow<Verdict> kVerdicts[] = {{Verdict::kSame, "same"},
                                         {Verdict::kFaster, "faster"},
                                         {Verdict::kSlower, "slower"},
                                         {Verdict::kAmbiguous, "ambiguous"},
                                         {Verdict::kInsufficient, "insufficient"},
                                         {Verdict::kNew, "new"},
                                         {Verdict::kGone, "gone"},
                                         {Verdict::kFailed, "failed"},
                                         {Verdict::kUnsupported, "unsupported"}};

// [1] Smallest change that counts, unless another is asked for: moving a loop in memory changes its
// time by as much.
constexpr double kMinEffect = 0.02;
// [1] Bound of `same` where the runs can resolve no better.
constexpr double kMaxEffect = 0.10;
constexpr double kExcludeAndShow = 1.96 + 1.28;  // standard errors: same in 90 % of unchanged ones
// [1] Logarithm: a larger shift of all benchmarks is not removed without the ceilings. Runs of an
// unchanged program on one machine drift by 0 to 6 % (baselines/studies/stored).
constexpr double kMaxDrift = 0.095;
// [1] A verdict must hold by this much in the other views of the times, too.
constexpr double kInOtherViews = 0.01;
constexpr double kMinRunNoise = 0.001;      // [1] deviation: runs of quiet machines agree to it
constexpr double kMinMachineError = 0.004;  // [1]
constexpr double kFar = 3.5;                // [standard errors] a run of another level
constexpr double kManyDegrees = 1e6;        // of freedom of an error that is known
constexpr double kWindow = 2.5;             // [deviations] of central values

// What is assumed of the noise between two runs, which no repetition shows. The standard error
// [1] of their ratio counts where too few benchmarks show it: runs of one process drift by up to
// 5 %, of several by half of that (baselines/studies/stored), which must not be *slower* more often
// than once in a hundred pairs; those of a GPU's own times differ by 0.3 %
// (baselines/studies/gpu-a-a). `least` is the least one where benchmarks show it. The degrees of
// freedom [1] are those of Student's t whose tails fit: of one process, whole benchmarks may be
// slow because of neighbours or of the memory that it got.
struct Assumed {
  double error, least, degrees;
};
constexpr Assumed AssumedOf(Measured measured) {
  switch (measured) {
    case Measured::kOneProcess:
      return {0.03, 0.003, 3};
    case Measured::kProcesses:
      return {0.015, 0.005, kManyDegrees};
    case Measured::kDevice:
      break;
  }
  return {0.005, 0.005, kManyDegrees};
}

double Square(double value) { return value * value; }

// Returns the variance beyond their own with which four fifths of the values on one side of
// `centre` are as near as normal ones are, of the side on which it is smaller. A side with few
// values, behind which a change of most benchmarks is, does not count.
double BetweenAround(double centre, const std::vector<Estimate>& values) {
  constexpr double kPart = 0.8, kOfNormal = 1.28;  // deviations
  // The smaller one of two estimated deviations is by kOfSmaller / sqrt(values) too small.
  constexpr double kOfSmaller = 0.5;
  double least = HUGE_VAL;
  for (const double sign : {1.0, -1.0}) {
    std::vector<Estimate> side;
    for (const auto& one : values)
      if (sign * (one.value - centre) >= 0) side.push_back(one);
    if (8 * side.size() < values.size()) continue;
    const auto count = static_cast<double>(side.size());
    const double deviations = kOfNormal / (1 + kOfSmaller / std::sqrt(count));
    std::vector<double> needed;
    for (const auto& [value, variance] : side)
      needed.push_back(Square((value - centre) / deviations) - variance);
    const auto at = needed.begin() + static_cast<std::ptrdiff_t>(std::ceil(kPart * count)) - 1;
    std::ranges::nth_element(needed, at);
    least = std::min(least, *at);
  }
  return std::max(least, 0.0);
}

// Returns the middle of the shortest interval that has 40 % of the values; of those that are hardly
// longer, of the one nearest to 0.
double MiddleOfMost(const std::vector<Estimate>& values) {
  constexpr double kMost = 0.4, kHardlyLonger = 1.5;
  std::vector<double> sorted;
  for (const auto& one : values) sorted.push_back(one.value);
  std::ranges::sort(sorted);
  const auto reach =
      static_cast<std::size_t>(std::ceil(kMost * static_cast<double>(sorted.size()))) - 1;
  double shortest = HUGE_VAL, nearest = HUGE_VAL;
  for (std::size_t i = 0; i + reach < sorted.size(); ++i)
    shortest = std::min(shortest, sorted[i + reach] - sorted[i]);
  for (std::size_t i = 0; i + reach < sorted.size(); ++i) {
    const double middle = (sorted[i] + sorted[i + reach]) / 2;
    if (sorted[i + reach] - sorted[i] <= kHardlyLonger * shortest + kMinRunNoise &&
        std::abs(middle) < std::abs(nearest))
      nearest = middle;
  }
  return nearest;
}

// Returns the logarithm of the shift of each earlier run against BASE, of one device. A run with
// too few benchmarks in common has none: then what is learnt between runs contains it.
std::map<int, double> ShiftsOfRuns(const std::vector<Candidate>& candidates,
                                   const std::vector<std::size_t>& members) {
  std::map<int, std::vector<Estimate>> ratios;
  for (const auto i : members)
    for (const auto& [run, level] : candidates[i].earlier) {
      const Shift shift = ShiftOfLevels(candidates[i].base, level);
      ratios[run].push_back({shift.log_ratio, Square(shift.standard_error)});
    }
  std::map<int, double> shifts;
  for (const auto& [run, values] : ratios)
    if (values.size() >= kMinForCommon) shifts[run] = CentreOf(values).value;
  return shifts;
}

// What is known of one benchmark.
struct Row {
  std::vector<double> runs;  // [1] levels of BASE and the earlier runs, each without its shift
  Spread of_runs;            // variance of these levels, and of those that were left out
  double base = 0;           // [1] level
  double within = 0;         // variance of log_ratio from the repetitions
  double within_degrees = 0;
  double between = 0;  // variance of log_ratio from run to run
  double between_degrees = kManyDegrees;
  double tail_degrees = kManyDegrees;  // of the noise between runs (Assumed)
  double log_ratio = 0;                // [1] without the common shift
  double removed = 0;                  // [1] that shift
  double removed_variance = 0;
  bool machine_known = false;  // ceilings or controls tell what of it is the machine's

  double deviation() const { return std::sqrt(within + between + removed_variance); }
  // Returns Welch and Satterthwaite's degrees of freedom.
  double degrees() const {
    const double spread = Square(within) / within_degrees + Square(between) / between_degrees;
    return spread > 0 ? Square(within + between + removed_variance) / spread : kManyDegrees;
  }
};

class JudgeOfRuns {
 public:
  JudgeOfRuns(const std::vector<Candidate>& candidates, const JudgeSettings& settings)
      : candidates_(candidates), settings_(settings), rows_(candidates.size()) {}

  Judged Finish() {
    std::map<int, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < rows_.size(); ++i) groups[candidates_[i].group].push_back(i);
    for (const auto& [group, members] : groups) FindRuns(members);
    FindWithin();
    const bool learnt = !settings_.run_noise && LearnBetween();
    for (const auto& [group, members] : groups) {
      const CommonShift common = FindCommon(group, members, learnt);
      if (!settings_.look_for_common_shift) continue;
      const auto rank = [](const CommonShift& one) {
        return std::pair(one.is_unexplained, one.benchmarks);
      };
      if (!judged_.common || rank(*judged_.common) < rank(common)) judged_.common = common;
    }
    DescribeNoise(learnt);
    ChooseMinEffect();
    Decide();
    return std::move(judged_);
  }

 private:
  // Collects the levels of BASE's side, those of the same level.
  void FindRuns(const std::vector<std::size_t>& members) {
    const auto shifts = ShiftsOfRuns(candidates_, members);
    for (const auto i : members) {
      Row& row = rows_[i];
      for (const auto& [run, level] : candidates_[i].earlier) {
        const auto shift = shifts.find(run);
        row.runs.push_back(level.log_seconds - (shift == shifts.end() ? 0 : shift->second));
      }
      row.runs.push_back(candidates_[i].base.log_seconds);
      const auto all = row.runs;
      KeepOneLevel(candidates_[i].base, row.runs);
      row.base = std::accumulate(row.runs.begin(), row.runs.end(), 0.0) /
                 static_cast<double>(row.runs.size());
      row.log_ratio = candidates_[i].contender.log_seconds - row.base;
      SetSpread(row.runs.size() > 1 ? all : row.runs, row);
    }
  }

  // Sets the variance of one run's level. Runs that were far belong to it, since the next one may
  // be as far; but not the last ones if they are on NEW's side: these have its level.
  static void SetSpread(std::vector<double> runs, Row& row) {
    while (runs.size() > row.runs.size() && (runs.back() - row.base) / row.log_ratio > 0.5)
      runs.pop_back();
    double squares = 0;
    for (const double run : runs) squares += Square(run - row.base);
    const auto degrees = static_cast<double>(runs.size()) - 1;
    row.of_runs = {squares / std::max(degrees, 1.0), degrees};
  }

  // Drops the runs that are far from the median of all. If BASE, which is the last, is far and was
  // named by the user, it alone counts.
  void KeepOneLevel(const Level& base, std::vector<double>& runs) const {
    if (runs.size() < 3) return;
    const double last = runs.back(), median = Median(runs);
    std::vector<double> distances;
    for (const double run : runs) distances.push_back(std::abs(run - median));
    constexpr double kDeviationOfMad = 1.4826;
    const double far = kFar * std::max({kDeviationOfMad * Median(std::move(distances)),
                                        std::sqrt(base.variance / base.count), kMinRunNoise});
    if (std::abs(last - median) > far && !settings_.window)
      runs = {last};
    else
      std::erase_if(runs, [&](double run) { return std::abs(run - median) > far; });
  }

  // Sets the variances from the repetitions. Those of both runs are pooled and moderated.
  void FindWithin() {
    std::vector<Spread> own;
    for (const auto& candidate : candidates_) {
      const auto &base = candidate.base, &contender = candidate.contender;
      Spread spread{base.degrees * base.variance + contender.degrees * contender.variance,
                    base.degrees + contender.degrees};
      for (const auto& [run, level] : candidate.earlier) {
        spread.variance += level.degrees * level.variance;
        spread.degrees += level.degrees;
      }
      own.push_back({spread.variance / std::max(spread.degrees, 1.0), spread.degrees});
    }
    const auto moderated = Moderated(own);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto& candidate = candidates_[i];
      const auto count = static_cast<double>(rows_[i].runs.size());
      rows_[i].within = moderated[i].variance *
                        (1 / candidate.base.count / count + 1 / candidate.contender.count);
      rows_[i].within_degrees = std::max(moderated[i].degrees, 1.0);
    }
  }

  // Sets the variances between runs from the earlier runs, if they are enough. Returns whether.
  bool LearnBetween() {
    constexpr double kMinDegrees = 4;  // five runs of one benchmark
    std::vector<Spread> own;
    double degrees = 0;
    for (const auto& row : rows_) {
      own.push_back(row.of_runs);
      degrees += row.of_runs.degrees;
    }
    if (degrees < kMinDegrees) return false;
    const auto levels = Moderated(own);  // of a run's level, with what its repetitions scatter
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      Row& row = rows_[i];
      const double of_runs = 1 + 1 / static_cast<double>(row.runs.size());
      row.between =
          std::max(levels[i].variance * of_runs - row.within, Square(kMinRunNoise) * of_runs);
      row.between_degrees = std::max(levels[i].degrees, 1.0);
      earlier_runs_ = std::max(earlier_runs_, static_cast<int>(row.runs.size()) - 1);
    }
    return true;
  }

  // Finds the common shift of a group's benchmarks and their scatter around it, and takes the shift
  // out of the ratios where that is right.
  CommonShift FindCommon(int group, const std::vector<std::size_t>& members, bool learnt) {
    CommonShift common{.benchmarks = static_cast<int>(members.size())};
    std::vector<Estimate> ratios;
    for (const auto i : members)
      ratios.push_back({rows_[i].log_ratio, rows_[i].within + rows_[i].between});
    const Centre centre = CentreOf(ratios);
    common.log_ratio = centre.value;
    common.standard_error = std::sqrt(centre.variance);
    for (const auto i : members) {
      Row& row = rows_[i];
      const auto assumed = AssumedOf(candidates_[i].measured);
      if (settings_.run_noise) {
        row.between = 2 * Square(*settings_.run_noise);
        continue;
      }
      if (learnt || common.is_known()) row.tail_degrees = assumed.degrees;
      if (learnt) continue;
      row.between = common.is_known() ? std::max(centre.between, Square(assumed.least))
                                      : Square(assumed.error);
    }
    common.machine = ControlsOf(members);
    if (const auto found = settings_.machines.find(group);
        !common.machine && found != settings_.machines.end())
      common.machine = found->second;
    if (settings_.look_for_common_shift) ChooseRemoved(common);
    for (const auto i : members) {
      rows_[i].removed = common.removed;
      rows_[i].machine_known = common.machine.has_value();
      rows_[i].removed_variance = Square(common.removed_error);
      rows_[i].log_ratio -= common.removed;
    }
    return common;
  }

  // Returns the mean shift of the benchmarks that are known as unchanged.
  std::optional<MachineShift> ControlsOf(const std::vector<std::size_t>& members) const {
    MachineShift shift{.what = "controls"};
    double variance = 0;
    for (const auto i : members) {
      if (!candidates_[i].control) continue;
      ++shift.count;
      shift.log_ratio += rows_[i].log_ratio;
      variance += rows_[i].within + rows_[i].between;
    }
    if (shift.count == 0) return std::nullopt;
    shift.log_ratio /= shift.count;
    shift.standard_error = std::sqrt(variance) / shift.count;
    return shift;
  }

  void ChooseRemoved(CommonShift& common) const {
    if (!common.machine) {
      // Of few benchmarks only a slowdown asks for an answer: none of them can be told from drift.
      const double size = common.is_known() ? std::abs(common.log_ratio) : common.log_ratio;
      const bool is_drift = size <= kMaxDrift;
      common.is_unexplained = size - 1.96 * common.standard_error >
                                  std::log1p(settings_.min_effect.value_or(kMinEffect)) &&
                              (is_drift || common.is_known());
      if (!common.is_known() || !is_drift) return;
      common.removed = common.log_ratio;
      common.removed_error = common.standard_error;
      return;
    }
    common.removed = common.machine->log_ratio;
    common.removed_error = std::max(common.machine->standard_error, kMinMachineError);
    if (!common.is_known()) return;
    // Few ceilings tell their own scatter badly (about Student's t).
    const double far = kFar * (1 + 3 / std::max(common.machine->count - 1.0, 1.0));
    common.is_of_program =
        std::abs(common.log_ratio - common.removed) >
        std::max(far * std::hypot(common.removed_error, common.standard_error), kMinEffect);
    if (common.is_of_program) return;
    common.removed = common.log_ratio;
    common.removed_error = common.standard_error;
  }

  void DescribeNoise(bool learnt) {
    std::vector<double> noises;
    for (const auto& row : rows_) noises.push_back(std::sqrt(row.between / 2));
    judged_.run_noise = noises.empty() ? 0 : Median(std::move(noises));
    if (settings_.run_noise)
      judged_.run_noise_from = "as asked for";
    else if (learnt)
      judged_.run_noise_from = fmt::format("learnt from up to {} earlier runs", earlier_runs_);
    else if (rows_.size() >= kMinForCommon)
      judged_.run_noise_from =
          fmt::format("from the scatter of {} benchmarks over these runs", rows_.size());
    else
      judged_.run_noise_from = fmt::format(
          "assumed: fewer than {} benchmarks and five runs to estimate it from", kMinForCommon);
  }

  void ChooseMinEffect() {
    if (settings_.min_effect) {
      judged_.min_effect = *settings_.min_effect;
      judged_.min_effect_from = "as asked for";
      return;
    }
    std::vector<double> deviations;
    for (const auto& row : rows_) deviations.push_back(row.deviation());
    const double typical = deviations.empty() ? 0 : Median(std::move(deviations));
    judged_.min_effect = std::clamp(std::expm1(kExcludeAndShow * typical), kMinEffect, kMaxEffect);
    judged_.min_effect_from = fmt::format(
        "from these runs: a typical ratio has a standard error of {:.1f} %", 100 * typical);
  }

  void Decide() {
    std::vector<double> slower(rows_.size()), faster(rows_.size());  // one-sided p-values
    judged_.each.resize(rows_.size());
    ParallelFor(rows_.size(), [&](std::size_t i) {
      const Row& row = rows_[i];
      Judgement& judgement = judged_.each[i];
      const double deviation = std::max(row.deviation(), 1e-9), degrees = row.degrees();
      // The noise between runs alone, with its tails, must not explain the shift either.
      const double jump = std::max(std::sqrt(row.between), 1e-9);
      const double reach =
          std::max(StudentQuantile(degrees) * deviation, StudentQuantile(row.tail_degrees) * jump);
      std::pair<double, double> ci95 = {row.log_ratio - reach, row.log_ratio + reach};
      judgement.p_value = std::max(StudentTwoSided(row.log_ratio / deviation, degrees),
                                   StudentTwoSided(row.log_ratio / jump, row.tail_degrees));
      double own_way = judgement.p_value / 2;
      if (const auto& exact = candidates_[i].interleaved) {  // two-sided, as its stopping rule
        ci95 = exact->shift.ci95;
        own_way = judgement.p_value = exact->p_value;
      }
      slower[i] = row.log_ratio > 0 ? own_way : 1 - own_way;
      faster[i] = 1 - slower[i];
      judgement.ratio = std::exp(row.log_ratio);
      judgement.ci95 = {std::exp(ci95.first), std::exp(ci95.second)};
      judgement.removed = std::exp(row.removed);
      judgement.earlier_runs = static_cast<int>(row.runs.size()) - 1;
    });
    slower = AdjustedPValues(slower);
    faster = AdjustedPValues(faster);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      judged_.each[i].adjusted_p = rows_[i].log_ratio > 0 ? slower[i] : faster[i];
      DecideOne(i);
    }
  }

  // Returns in which other view of the times a change of this sign does not hold: against each of
  // two stored runs, of which no majority tells the level; as measured, if nothing but the
  // benchmarks themselves tells what they share; in the fastest repetitions of one process, since
  // neighbours make calls slower and never faster.
  const char* NotIn(std::size_t i, double sign) const {
    const Row& row = rows_[i];
    const auto& candidate = candidates_[i];
    if (!settings_.look_for_common_shift) return nullptr;
    const auto holds = [&](double log_ratio) { return sign * log_ratio >= kInOtherViews; };
    if (row.runs.size() == 2 && !std::ranges::all_of(row.runs, [&](double run) {
          return holds(row.log_ratio + row.base - run);
        }))
      return "than each of the two stored runs";
    if (!row.machine_known && !holds(row.log_ratio + row.removed))
      return "as measured: all benchmarks moved";
    if (sign < 0 && candidate.measured == Measured::kOneProcess && row.between > Square(kMinEffect))
      return "surely: runs of one process scatter so much that BASE may have been the slow one";
    const auto &before = candidate.base.fastest, &after = candidate.contender.fastest;
    if (!before || !after) return nullptr;
    // BASE's run tells how far the fastest are from the level, which may be that of a window.
    const double fastest = row.base + *before - candidate.base.log_seconds;
    return !holds(*after - fastest - row.removed)
               ? "in the fastest repetitions: run several processes"
               : nullptr;
  }

  void DecideOne(std::size_t i) {
    const Row& row = rows_[i];
    Judgement& judgement = judged_.each[i];
    const double bound = std::log1p(judged_.min_effect);
    const double least = std::log1p(settings_.min_effect.value_or(kMinEffect));
    const auto& [low, high] = judgement.ci95;
    const bool excludes = low > 1 || high < 1;
    const bool beyond = std::abs(row.log_ratio) > least;
    const bool sure = excludes && judgement.adjusted_p <= kFalseDiscoveryRate;
    const double sign = row.log_ratio > 0 ? 1 : -1;
    const auto change = sign > 0 ? Verdict::kSlower : Verdict::kFaster;
    const char* not_in = beyond && sure ? NotIn(i, sign) : nullptr;
    if (beyond && sure && not_in == nullptr) {
      judgement.verdict = change;
      if (settings_.window) judgement.reason = SinceText(i, sign);
    } else if (std::log(low) >= -bound && std::log(high) <= bound) {
      judgement.verdict = Verdict::kSame;
    } else if (not_in != nullptr) {
      judgement.reason = fmt::format("{}, but not {}", Key(change), not_in);
    } else if (!excludes) {
      judgement.reason = fmt::format("too uncertain: unchanged, or changed by more than {:.1f} %",
                                     100 * judged_.min_effect);
    } else {
      judgement.reason =
          beyond ? fmt::format("beyond {:.1f} %, but with this many benchmarks that can be chance",
                               100 * std::expm1(least))
                 : fmt::format("moved, but perhaps by less than {:.1f} %", 100 * std::expm1(least));
    }
  }

  // Returns since when the benchmark is slower or faster than the window: how many of the last runs
  // are nearer to NEW's level than to BASE's.
  std::string SinceText(std::size_t i, double sign) const {
    const Row& row = rows_[i];
    std::vector<double> levels;
    for (const auto& earlier : candidates_[i].earlier) levels.push_back(earlier.level.log_seconds);
    levels.push_back(candidates_[i].base.log_seconds);
    std::size_t runs = 1;
    while (!levels.empty() && sign * (levels.back() - row.base) > std::abs(row.log_ratio) / 2) {
      levels.pop_back();
      ++runs;
    }
    return ConfirmedText(runs);
  }

  const std::vector<Candidate>& candidates_;
  const JudgeSettings& settings_;
  std::vector<Row> rows_;
  int earlier_runs_ = 0;
  Judged judged_;
};

std::string FactorText(double log_ratio, double standard_error) {
  const double reach = 1.96 * standard_error;
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", std::exp(log_ratio), std::exp(log_ratio - reach),
                     std::exp(log_ratio + reach));
}

}  // namespace

const std::vector<Verdict>& AllVerdicts() {
  static const auto all = ValuesOf(kVerdicts);
  return all;
}

std::string_view Key(Verdict verdict) { return KeyIn(kVerdicts, verdict); }

std::vector<std::string> Describe(const CommonShift& common) {
  std::vector<std::string> lines;
  const auto all = fmt::format("all {} benchmarks together: {} {}", common.benchmarks,
                               common.log_ratio > 0 ? "slower" : "faster",
                               FactorText(common.log_ratio, common.standard_error));
  if (common.machine) {
    const auto machine =
        fmt::format("{} {} moved by {}", common.machine->count, common.machine->what,
                    FactorText(common.machine->log_ratio, common.machine->standard_error));
    if (!common.is_known())
      lines.push_back(fmt::format("{}: removed from all ratios", machine));
    else if (common.is_of_program)
      lines.push_back(fmt::format(
          "{}; {}, which is removed from all ratios: the rest is of the program, its libraries or "
          "settings",
          all, machine));
    else
      lines.push_back(fmt::format("{}; {}: each is judged beside that", all, machine));
  } else if (!common.is_known()) {
    lines.push_back(
        "nothing tells how much faster or slower the machine was in one of the two runs");
  } else if (common.removed == 0) {
    lines.push_back(fmt::format("{}: too much for a machine's drift, so nothing is removed", all));
  } else {
    lines.push_back(fmt::format("{}: each is judged beside that", all));
  }
  if (common.is_unexplained && std::abs(common.log_ratio) <= kMaxDrift)
    lines.push_back(
        "program or machine? Measure again beside the old program (--again now), name benchmarks "
        "that cannot have changed (--control), or measure the ceilings for each run (dlroof "
        "machine "
        "--remeasure)");
  return lines;
}

std::vector<Spread> Moderated(const std::vector<Spread>& own) {
  constexpr double kDegreesOfTypical = 6;
  std::vector<double> variances;
  double all_degrees = 0;
  for (const auto& [variance, degrees] : own) {
    if (!(variance > 0) || !(degrees > 0)) continue;
    // Median of chi-square / degrees (Wilson and Hilferty).
    const double of_median = std::pow(1 - 2 / (9 * degrees), 3);
    variances.push_back(variance / of_median);
    all_degrees += degrees;
  }
  if (variances.empty()) return own;
  const double typical = Median(std::move(variances));
  std::vector<Spread> moderated;
  for (const auto& [variance, degrees] : own) {
    const double all = degrees + kDegreesOfTypical;
    moderated.push_back(
        {(degrees * variance + kDegreesOfTypical * typical) / all, std::min(all, all_degrees)});
  }
  return moderated;
}

Centre CentreOf(const std::vector<Estimate>& values) {
  constexpr int kRounds = 3;
  Centre centre{.value = MiddleOfMost(values)};
  for (int round = 0; round < kRounds; ++round) {
    centre.between = BetweenAround(centre.value, values);
    double sum = 0, weights = 0;
    for (const auto& [value, variance] : values) {
      const double total = std::max(variance + centre.between, 1e-16);
      if (Square(value - centre.value) > Square(kWindow) * total) continue;
      sum += value / total;
      weights += 1 / total;
    }
    if (!(weights > 0)) break;
    centre.value = sum / weights;
    centre.variance = 1 / weights;
  }
  return centre;
}

Judged Judge(const std::vector<Candidate>& candidates, const JudgeSettings& settings) {
  return JudgeOfRuns(candidates, settings).Finish();
}

}  // namespace dlroof::statistics
