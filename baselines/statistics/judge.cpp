#include "baselines/statistics/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"

namespace dlroof::statistics {
namespace {

// [1] Default minimum effect: the placement of a loop in memory changes its time by as much.
constexpr double kMinEffect = 0.02;
// [1] Upper limit of the default minimum effect: 5 % + 3 % of noise between one-process runs.
constexpr double kMaxEffect = 0.08;
// [1] The same where that noise is assumed (HasFewOfOneProcess). Its 95 % interval is +-10 %, so
// two unchanged runs are "same" if they differ by less than kMinEffect.
constexpr double kMaxOfFew = 0.125;
// A minimum effect of this many standard errors makes 90 % of unchanged benchmarks "same".
constexpr double kExcludeAndShow = 1.96 + 1.28;
// [1] Minimum log ratio of a change in each of the other views that ContradictionOf checks.
constexpr double kInOtherViews = 0.01;
// [1] One process in 30 to 40 is 5 to 15 % (log 1.15 = 0.14) slower for as long as it runs, and
// bursts of other programs slow repetitions even more, in BASE as often as in NEW. So a change up
// to 15 % (after bursts any change) must be more than twice the second largest change in the
// opposite direction. With fewer than kMinForCommon benchmarks it must exceed `farthest_`.
constexpr double kSlowForLife = 0.14, kTimesOpposite = 2;
// [1] A change must be larger than the temporary deviations of all but this share of earlier runs.
constexpr double kMaxReturned = 0.01;
constexpr double kMinRunNoise = 0.001;      // [1] minimum standard deviation between runs
constexpr double kMinMachineError = 0.004;  // [1] of the log of the machine's shift
constexpr double kFar = 3.5;                // [standard errors] farther runs have another level
constexpr double kManyDegrees = 1e6;        // degrees of freedom of a known error
constexpr double kWindow = 2.5;             // [standard deviations] a mean omits farther values

// [1] Standard deviation of the ratio of two runs beyond the noise within runs. It is assumed if
// there are too few benchmarks to estimate it. A process can be 9 % slower than another
// for as long as it runs; runs of several processes drift by up to 3 % (baselines/studies/stored),
// GPU device times by 0.3 % (baselines/studies/gpu-a-a).
constexpr std::array kBetween = {0.05, 0.015, 0.005};  // in the order of Measured
// [1] False discovery rate for runs of one process without earlier runs. At 5 %, about one in ten
// pairs of unchanged runs had a benchmark with the verdict slower.
constexpr double kOfOneProcess = 0.01;
constexpr auto* kDifferInOneProcess =
    "by more than unchanged programs differ in one process: several processes on a quiet machine "
    "can tell";
// [1] A larger scatter of one-process ratios is attributed to changes, unless other programs slowed
// repetitions: it was up to 3.2 % in 10 unslowed unchanged pairs (baselines/studies/stored).
constexpr double kMaxScatter = 0.06;
constexpr double kMinBetween = 0.005;  // [1] lower limit of a scatter estimated from benchmarks
// [1] Noise is estimated from this share of the ratios, the nearest: the others may be changes.
constexpr double kTypical = 0.75;
// [1] Other programs may slow a whole benchmark in one run. The noise is then chosen so that this
// share of the ratios, or of the earlier runs, is within 1.96 standard errors.
constexpr double kNearlyAll = 0.95;

// Returns the variance to add to each value's own variance, with its degrees of freedom, so that
// `share` of the values on one side of `centre` are as near to it as in a normal distribution.
// Returns the smaller result of the two sides; ignores a side with less than 1/8 of the values.
Spread BetweenAround(double centre, const std::vector<Estimate>& values, double share) {
  // The smaller of two estimated deviations is on average too small by kOfSmaller / sqrt(values).
  constexpr double kOfSmaller = 0.5;
  const double of_normal = StudentQuantile(kManyDegrees, 1 - share);
  Spread least{.variance = HUGE_VAL};
  for (const double sign : {1.0, -1.0}) {
    std::vector<Estimate> side;
    for (const auto& [value, variance] : values)
      if (sign * (value - centre) >= 0) side.push_back({Square(value - centre), variance});
    if (8 * side.size() < values.size()) continue;
    const auto count = static_cast<double>(side.size());
    const double deviations = of_normal / (1 + kOfSmaller / std::sqrt(count));
    const auto needed = [&](const Estimate& distance) {
      return distance.value / Square(deviations) - distance.variance;
    };
    const auto at = side.begin() + static_cast<std::ptrdiff_t>(std::ceil(share * count)) - 1;
    std::ranges::nth_element(side, at, {}, needed);
    least.variance = std::min(least.variance, needed(*at));
  }
  least.variance = std::max(least.variance, 0.0);
  const auto near = std::ranges::count_if(values, [&](const Estimate& estimate) {
    return Square(estimate.value - centre) <=
           Square(kWindow) * (estimate.variance + least.variance);
  });
  // A deviation estimated from the 75 % or 95 % quantile of n normal values is as uncertain as one
  // from the squares of 0.6 n values (asymptotic variance of a quantile), the smaller of two more.
  constexpr double kDegreesOfQuantile = 0.45;
  least.degrees = kDegreesOfQuantile * static_cast<double>(near);
  return least;
}

// Of all intervals with 40 % of the values, finds the one with the smallest sum of its length and a
// tenth of its median's distance from 0; returns its median. So if half of the benchmarks changed,
// the center is in the unchanged half.
double MiddleOfMost(const std::vector<Estimate>& values) {
  constexpr double kShare = 0.4, kOfDistance = 0.1;
  auto sorted = VectorOf<double>(values, &Estimate::value);
  std::ranges::sort(sorted);
  const auto count = static_cast<double>(sorted.size());
  const auto reach = static_cast<std::size_t>(std::ceil(kShare * count)) - 1;
  const auto cost = [&](std::size_t i) {
    return sorted[i + reach] - sorted[i] + kOfDistance * std::abs(sorted[i + reach / 2]);
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i + reach < sorted.size(); ++i)
    if (cost(i) < cost(best)) best = i;
  return sorted[best + reach / 2];
}

// Returns the common shift log(run / BASE) of the benchmarks `members` by earlier run. Omits runs
// with too few of these benchmarks: their shift counts as noise between runs.
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

struct Row {
  std::vector<double> all;   // [1] log levels of earlier runs and BASE, without common shifts
  std::vector<double> runs;  // [1] the part of `all` whose mean is BASE's level
  Spread of_runs;            // variance of one run's level
  double base = 0;           // [1] BASE's level
  double within = 0;         // variance of log_ratio due to noise within runs
  double within_degrees = 0;
  double between = 0;  // variance of log_ratio due to noise between runs
  double between_degrees = kManyDegrees;
  // Degrees of freedom of variance(). Set if `between` is estimated from the scatter of all
  // benchmarks about their common shift, and both runs are of one process.
  std::optional<double> scatter_degrees;
  double log_ratio = 0;  // [1] log(NEW / BASE), without common.removed
  CommonShift common;    // of the benchmark's group

  double variance() const { return within + between + Square(common.removed.standard_error); }
  // Returns scatter_degrees or, if unset, the degrees of freedom by Welch and Satterthwaite.
  double degrees() const {
    if (scatter_degrees) return *scatter_degrees;
    const double spread = Square(within) / within_degrees + Square(between) / between_degrees;
    return spread > 0 ? Square(variance()) / spread : kManyDegrees;
  }
};

class JudgeOfRuns {
 public:
  JudgeOfRuns(const std::vector<Candidate>& candidates, const JudgeSettings& settings)
      : candidates_(candidates), settings_(settings), rows_(candidates.size()) {}

  Judged Finish() {
    for (const auto& candidate : candidates_)
      farthest_ = std::max({farthest_, candidate.base.farthest, candidate.contender.farthest});
    std::map<int, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < rows_.size(); ++i) groups[candidates_[i].group].push_back(i);
    for (const auto& [group, members] : groups) FindRuns(members);
    FindWithin();
    learnt_ = !settings_.run_noise && LearnBetween();
    if (!learnt_ && !settings_.run_noise &&
        std::ranges::any_of(candidates_, [](const auto& candidate) {
          return candidate.measured == Measured::kOneProcess && !candidate.interleaved;
        }))
      judged_.false_discovery_rate = kOfOneProcess;
    for (const auto& [group, members] : groups) {
      const CommonShift common = FindCommon(group, members);
      const auto rank = [](const CommonShift& shift) {
        return std::pair(shift.is_unexplained, shift.all.count);
      };
      if (settings_.look_for_common_shift &&
          (!judged_.common || rank(*judged_.common) < rank(common)))
        judged_.common = common;
    }
    DescribeNoise();
    ChooseMinEffect();
    Decide();
    return std::move(judged_);
  }

 private:
  void FindRuns(const std::vector<std::size_t>& members) {
    const auto shifts = ShiftsOfRuns(candidates_, members);
    for (const auto i : members) {
      Row& row = rows_[i];
      for (const auto& [run, level] : candidates_[i].earlier)
        row.all.push_back(level.log_seconds - FindCopy(shifts, run).value_or(0));
      row.all.push_back(candidates_[i].base.log_seconds);
      row.runs = row.all;
      KeepOneLevel(candidates_[i].base, row.runs);
      const auto count = static_cast<double>(row.runs.size());
      row.base = std::accumulate(row.runs.begin(), row.runs.end(), 0.0) / count;
      row.log_ratio = candidates_[i].contender.log_seconds - row.base;
      SetSpread(row);
      for (std::size_t run = 1; run + 1 < row.all.size(); ++run)
        returned_.push_back(
            std::abs(row.all[run] - Median({row.all[run - 1], row.all[run], row.all[run + 1]})));
    }
  }

  // Sets the variance of one run's level. Outlying earlier runs count, because NEW may be an
  // outlier, too. The last runs do not count if they are nearer to NEW: they belong to the change.
  static void SetSpread(Row& row) {
    auto runs = row.all;
    const double median = Median(runs);
    while (runs.size() > row.runs.size() && (runs.back() - median) / row.log_ratio > 0.5)
      runs.pop_back();
    double squares = 0;
    for (const double run : runs) squares += Square(run - median);
    const auto degrees = static_cast<double>(runs.size()) - 1;
    row.of_runs = {squares / std::max(degrees, 1.0), degrees};
  }

  // Removes runs whose level is far from the median level.
  static void KeepOneLevel(const Level& base, std::vector<double>& runs) {
    if (runs.size() < 3) return;
    const double median = Median(runs);
    const double far = kFar * std::max({RobustDeviation(runs, median),
                                        std::sqrt(base.variance / base.count), kMinRunNoise});
    std::erase_if(runs, [&](double run) { return std::abs(run - median) > far; });
  }

  // Sets the variances within runs, pooled over both runs and moderated.
  void FindWithin() {
    std::vector<Spread> own;
    for (const auto& candidate : candidates_) {
      double squares = 0, degrees = 0;
      const auto add = [&](const Level& level) {
        squares += level.degrees * level.variance;
        degrees += level.degrees;
      };
      add(candidate.base);
      add(candidate.contender);
      for (const auto& [run, level] : candidate.earlier) add(level);
      own.push_back({squares / std::max(degrees, 1.0), degrees});
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

  // Returns whether other programs slowed repetitions of a one-process run beyond kSlowForLife.
  bool HadBursts() const { return farthest_ > kSlowForLife; }

  // Returns the deviation [1] in returned_ that only the share `share` exceeds; 0 if it is empty.
  double FarthestReturned(double share) const {
    const auto farther = static_cast<std::size_t>(share * static_cast<double>(returned_.size()));
    return returned_.empty() ? 0 : returned_[returned_.size() - 1 - farther];
  }

  // Estimates the variances between runs from earlier runs. Returns false if these are too few.
  bool LearnBetween() {
    constexpr double kMinDegrees = 4;  // five runs of one benchmark
    const auto own = VectorOf<Spread>(rows_, &Row::of_runs);
    double degrees = 0;
    for (const auto& of_runs : own) degrees += of_runs.degrees;
    if (degrees < kMinDegrees) return false;
    const auto levels = Moderated(own);  // of a run's level, including the noise within the run
    std::ranges::sort(returned_);
    const double off = FarthestReturned(1 - kNearlyAll) / 1.96;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      Row& row = rows_[i];
      const double of_runs = 1 + 1 / static_cast<double>(row.runs.size());
      row.between = std::max(
          {levels[i].variance * of_runs - row.within, Square(kMinRunNoise) * of_runs, Square(off)});
      row.between_degrees = std::max(levels[i].degrees, 1.0);
      earlier_runs_ = std::max(earlier_runs_, static_cast<int>(row.runs.size()) - 1);
    }
    return true;
  }

  // Estimates the common shift of a group's benchmarks and their scatter around it, and removes the
  // shift from the ratios where justified.
  CommonShift FindCommon(int group, const std::vector<std::size_t>& members) {
    std::vector<Estimate> ratios;
    for (const auto i : members)
      ratios.push_back({rows_[i].log_ratio, rows_[i].within + rows_[i].between});
    Centre centre = CentreOf(ratios);
    if (HadBursts()) centre.between = BetweenAround(centre.value, ratios, kNearlyAll);
    CommonShift common{
        .all = {centre.value, std::sqrt(centre.variance), static_cast<int>(members.size())}};
    for (const auto i : members) {
      Row& row = rows_[i];
      if (settings_.run_noise) {
        row.between = 2 * Square(*settings_.run_noise);
      } else if (!learnt_ && common.is_known()) {
        row.between = std::max(centre.between.variance, Square(kMinBetween));
        row.between_degrees = common.all.count;
        if (candidates_[i].measured != Measured::kOneProcess) continue;
        row.scatter_degrees = centre.between.degrees;
        if (!HadBursts() && row.between > Square(kMaxScatter)) {
          row.between = Square(kMaxScatter);
          row.scatter_degrees = kManyDegrees;
        }
      } else if (!learnt_) {
        const auto measured = candidates_[i].measured;
        const bool widen = HadBursts() && measured == Measured::kOneProcess;
        row.between = Square(
            std::max(kBetween[static_cast<std::size_t>(measured)], widen ? farthest_ / 1.96 : 0));
      }
    }
    common.machine = ControlsOf(members);
    common.by_controls = common.machine.has_value();
    if (!common.machine) common.machine = FindCopy(settings_.machines, group);
    if (settings_.look_for_common_shift) ChooseRemoved(common);
    for (const auto i : members) {
      rows_[i].common = common;
      rows_[i].log_ratio -= common.removed.log_ratio;
    }
    return common;
  }

  // Returns the mean shift of the controls (benchmarks known to be unchanged), if there are any.
  std::optional<JointShift> ControlsOf(const std::vector<std::size_t>& members) const {
    JointShift shift;
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
    // Disturbed ceilings: without their shift the benchmarks would differ more than as measured.
    const double all = std::abs(common.all.log_ratio);
    if (common.machine && !common.by_controls &&
        std::abs(common.all.log_ratio - common.machine->log_ratio) > all + kMinEffect)
      common.machine.reset();
    if (!common.machine) {
      // Below kMinForCommon benchmarks a speedup may be drift: only a slowdown is unexplained.
      const double shift = common.all.log_ratio, size = common.is_known() ? std::abs(shift) : shift;
      const bool is_drift = size <= kMaxDrift;
      common.is_unexplained = size - 1.96 * common.all.standard_error >
                                  std::log1p(settings_.min_effect.value_or(kMinEffect)) &&
                              (is_drift || (common.is_known() && shift > 0));
      if (common.is_known() && is_drift) common.removed = common.all;
      return;
    }
    auto& removed = common.removed;
    removed = *common.machine;
    removed.standard_error = std::max(removed.standard_error, kMinMachineError);
    if (!common.is_known()) return;
    // The scatter of few ceilings is uncertain, so allow more (about Student's t).
    const double far = kFar * (1 + 3 / std::max(removed.count - 1.0, 1.0));
    common.is_of_program =
        std::abs(common.all.log_ratio - removed.log_ratio) >
        std::max(far * std::hypot(removed.standard_error, common.all.standard_error), kMinEffect);
    if (!common.is_of_program) removed = common.all;
  }

  // Returns the median of of_row(row) over the rows; 0 without rows.
  template <class OfRow>
  double MedianOf(const OfRow& of_row) const {
    return rows_.empty() ? 0 : Median(VectorOf<double>(rows_, of_row));
  }

  void DescribeNoise() {
    judged_.run_noise = MedianOf([](const Row& row) { return std::sqrt(row.between / 2); });
    judged_.run_noise_from =
        settings_.run_noise ? "as asked for"
        : learnt_           ? fmt::format("learnt from up to {} earlier runs", earlier_runs_)
        : rows_.size() >= kMinForCommon
            ? fmt::format("from the scatter of {} benchmarks over these runs", rows_.size())
            : fmt::format("assumed: fewer than {} benchmarks and five runs to estimate it from",
                          kMinForCommon);
  }

  void ChooseMinEffect() {
    if (settings_.min_effect) {
      judged_.min_effect = *settings_.min_effect;
      judged_.min_effect_from = "as asked for";
      return;
    }
    const double typical = MedianOf([](const Row& row) { return std::sqrt(row.variance()); });
    bool few = false;
    for (std::size_t i = 0; i < rows_.size(); ++i) few = few || HasFewOfOneProcess(i);
    judged_.min_effect =
        std::clamp(std::expm1(kExcludeAndShow * typical), kMinEffect, few ? kMaxOfFew : kMaxEffect);
    judged_.min_effect_from = fmt::format(
        "from these runs: a typical ratio has a standard error of {:.1f} %", 100 * typical);
    if (judged_.min_effect > kMinEffect)
      judged_.min_effect_from += "; what is surely beyond 2 % is slower or faster all the same";
  }

  void Decide() {
    std::vector<double> slower(rows_.size()), faster(rows_.size());  // one-sided p-values
    judged_.each.resize(rows_.size());
    ParallelFor(rows_.size(), [&](std::size_t i) {
      const Row& row = rows_[i];
      Judgement& judgement = judged_.each[i];
      const double deviation = std::max(std::sqrt(row.variance()), 1e-9), degrees = row.degrees();
      const double reach = StudentQuantile(degrees) * deviation;
      std::pair<double, double> ci95 = {row.log_ratio - reach, row.log_ratio + reach};
      judgement.p_value = StudentTwoSided(row.log_ratio / deviation, degrees);
      double own_way = judgement.p_value / 2;
      if (const auto& exact = candidates_[i].interleaved) {
        ci95 = exact->ci95;
        own_way = judgement.p_value = exact->p_value;  // not halved: stopping is two-sided
      }
      slower[i] = row.log_ratio > 0 ? own_way : 1 - own_way;
      faster[i] = 1 - slower[i];
      judgement.ratio = std::exp(row.log_ratio);
      judgement.ci95 = {std::exp(ci95.first), std::exp(ci95.second)};
      judgement.removed = std::exp(row.common.removed.log_ratio);
      judgement.earlier_runs = static_cast<int>(row.runs.size()) - 1;
    });
    slower = AdjustedPValues(slower);
    faster = AdjustedPValues(faster);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const double log_ratio = rows_[i].log_ratio;
      judged_.each[i].adjusted_p = log_ratio > 0 ? slower[i] : faster[i];
      if (IsSure(i)) sure_[{candidates_[i].group, log_ratio > 0}].push_back(std::abs(log_ratio));
    }
    for (auto& [direction, sizes] : sure_) std::ranges::sort(sizes, std::greater());
    for (std::size_t i = 0; i < rows_.size(); ++i) DecideOne(i);
  }

  // Returns whether the test alone finds a change, before ContradictionOf.
  bool IsSure(std::size_t i) const {
    const auto& [low, high] = judged_.each[i].ci95;
    return (low > 1 || high < 1) && judged_.each[i].adjusted_p <= judged_.false_discovery_rate &&
           std::abs(rows_[i].log_ratio) > std::log1p(settings_.min_effect.value_or(kMinEffect));
  }

  // Returns whether the error between the runs is the one assumed for runs of one process.
  bool HasFewOfOneProcess(std::size_t i) const {
    return !learnt_ && !settings_.run_noise && !rows_[i].common.is_known() &&
           candidates_[i].measured == Measured::kOneProcess;
  }

  // Returns what contradicts the change that the test finds (completes "slower, but not ..."), or
  // null if nothing does. `sign`: 1 for slower, -1 for faster.
  const char* ContradictionOf(std::size_t i, double sign) const {
    const Row& row = rows_[i];
    const auto& candidate = candidates_[i];
    if (!settings_.look_for_common_shift) return nullptr;
    const auto holds = [&](double log_ratio) { return sign * log_ratio >= kInOtherViews; };
    if (!holds(row.log_ratio + (row.common.machine ? 0 : row.common.removed.log_ratio) +
               (settings_.window ? 0 : row.base - candidate.base.log_seconds)))
      return "than BASE as measured: all benchmarks moved, or BASE is unlike the runs before it";
    const auto held = std::ranges::count_if(
        row.all, [&](double run) { return holds(row.log_ratio + row.base - run); });
    if (2 * static_cast<std::size_t>(held) <= row.all.size()) return "than most of the stored runs";
    const double distance = std::abs(row.log_ratio);
    if (learnt_ && distance <= FarthestReturned(kMaxReturned))
      return "by more than earlier runs did that returned to their level: several processes on a "
             "quiet machine can tell";
    if (candidate.measured != Measured::kOneProcess) return nullptr;
    if (HasFewOfOneProcess(i) && distance <= farthest_) return kDifferInOneProcess;
    const auto* opposite = FindValue(sure_, std::pair(candidate.group, sign < 0));
    if (!learnt_ && row.common.is_known() && (HadBursts() || distance <= kSlowForLife) &&
        opposite != nullptr && opposite->size() > 1 && distance <= kTimesOpposite * (*opposite)[1])
      return "by clearly more than others moved the other way by noise: several processes on a "
             "quiet machine can tell";
    const auto &before = candidate.base.fastest, &after = candidate.contender.fastest;
    if (!before || !after) return nullptr;
    // [1] Log time of BASE's fastest repetitions, shifted from BASE's own level to row.base.
    const double fastest = row.base + *before - candidate.base.log_seconds;
    return holds(*after - fastest - row.common.removed.log_ratio)
               ? nullptr
               : "in the fastest repetitions: several processes on a quiet machine can tell";
  }

  void DecideOne(std::size_t i) {
    const Row& row = rows_[i];
    Judgement& judgement = judged_.each[i];
    const double bound = std::log1p(judged_.min_effect);
    const double least = settings_.min_effect.value_or(kMinEffect);
    const auto& [low, high] = judgement.ci95;
    const double sign = row.log_ratio > 0 ? 1 : -1;
    const auto change = sign > 0 ? Verdict::kSlower : Verdict::kFaster;
    const bool sure = IsSure(i);
    const char* not_in = sure ? ContradictionOf(i, sign) : nullptr;
    if (sure && not_in == nullptr) {
      judgement.verdict = change;
      if (settings_.window) {
        judgement.runs_since = RunsSince(i, sign);
        judgement.reason = ConfirmedText(static_cast<std::size_t>(judgement.runs_since));
      }
    } else if (std::log(low) >= -bound && std::log(high) <= bound) {
      judgement.verdict = Verdict::kSame;
    } else if (not_in != nullptr || (HasFewOfOneProcess(i) && (low > 1 || high < 1))) {
      judgement.reason = fmt::format("{}, but not {}", Key(change),
                                     not_in != nullptr ? not_in : kDifferInOneProcess);
      judgement.is_suspect = sign > 0;
    } else if (low <= 1 && high >= 1) {
      judgement.reason = fmt::format("too uncertain: unchanged, or changed by more than {:.1f} %",
                                     100 * judged_.min_effect);
    } else if (std::abs(row.log_ratio) > std::log1p(least)) {
      judgement.reason = fmt::format(
          "beyond {:.1f} %, but with this many benchmarks that can be chance", 100 * least);
    } else {
      judgement.reason = fmt::format("moved, but perhaps by less than {:.1f} %", 100 * least);
    }
    if (IsChange(judgement.verdict)) RetractUnlessInOther(candidates_[i], judgement);
  }

  // Retracts a change of the time that the other measure does not show, as nvbench's robust
  // comparison does with SM cycles.
  static void RetractUnlessInOther(const Candidate& candidate, Judgement& judgement) {
    const double time = candidate.contender.log_seconds - candidate.base.log_seconds;
    const auto& other = candidate.other;
    if (!other || other->log_ratio / time > kMinInOther) return;
    judgement.is_suspect = judgement.verdict == Verdict::kSlower;
    judgement.verdict = Verdict::kAmbiguous;
    judgement.reason = fmt::format(
        "{:+.1f} % in time but {:+.1f} % in {}: {}, so this run cannot say whether the code did",
        100 * std::expm1(time), 100 * std::expm1(other->log_ratio), other->name, other->cause);
  }

  // Returns the number of newest runs, including NEW, that are nearer to NEW than to row.base.
  int RunsSince(std::size_t i, double sign) const {
    const Row& row = rows_[i];
    const auto far = [&](double run) {
      return sign * (run - row.base) > std::abs(row.log_ratio) / 2;
    };
    const auto last = std::find_if_not(row.all.rbegin(), row.all.rend(), far) - row.all.rbegin();
    return static_cast<int>(last) + 1;
  }

  const std::vector<Candidate>& candidates_;
  const JudgeSettings& settings_;
  std::vector<Row> rows_;
  int earlier_runs_ = 0;
  double farthest_ = kSlowForLife;  // [1] largest Level::farthest, at least kSlowForLife
  bool learnt_ = false;             // the noise between runs was estimated from earlier runs
  // [1] Temporary deviations: distance of a run's log level from the median of it, the run before
  // and the run after it. Ascending once LearnBetween has succeeded.
  std::vector<double> returned_;
  // [1] Absolute log ratios of sure changes by group and direction (true: slower), descending.
  std::map<std::pair<int, bool>, std::vector<double>> sure_;
  Judged judged_;
};

std::string FactorText(const JointShift& shift) {
  const auto [low, high] = shift.interval();
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", shift.ratio(), low, high);
}

}  // namespace

std::vector<std::string> Describe(const CommonShift& common) {
  const bool known = common.is_known();
  std::string line =
      fmt::format("all {} benchmarks together: {} {}", common.all.count,
                  common.all.log_ratio > 0 ? "slower" : "faster", FactorText(common.all));
  if (common.machine) {
    const auto machine =
        fmt::format("{} {} moved by {}", common.machine->count,
                    common.by_controls ? "controls" : "ceilings that both runs measured",
                    FactorText(*common.machine));
    line = !known ? machine + ": removed from all ratios"
                  : fmt::format("{}; {}{}", line, machine,
                                common.is_of_program
                                    ? ", which is removed from all ratios: the rest is of the "
                                      "program, its libraries or settings"
                                    : ": each is judged relative to that");
  } else if (!known) {
    line = "nothing tells whether the machine was faster or slower in one of the two runs";
  } else {
    line += common.removed.log_ratio == 0
                ? ": too large for drift of the machine, so nothing is removed"
                : ": each is judged relative to that";
  }
  if (!common.is_unexplained || std::abs(common.all.log_ratio) > kMaxDrift) return {line};
  return {line,
          "program or machine? Measure again beside the old program (--again now), name benchmarks "
          "that cannot have changed (--control), or measure the ceilings for each run "
          "(dlroof machine --remeasure)"};
}

std::vector<Spread> Moderated(const std::vector<Spread>& own) {
  constexpr double kDegreesOfTypical = 12;
  std::vector<double> variances;
  double all_degrees = 0;
  for (const auto& [variance, degrees] : own) {
    if (!(variance > 0) || !(degrees > 0)) continue;
    // Median of chi-square / degrees, approximated (Wilson and Hilferty).
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
    centre.between = BetweenAround(centre.value, values, kTypical);
    double sum = 0, weights = 0;
    for (const auto& [value, variance] : values) {
      const double total = std::max(variance + centre.between.variance, 1e-16);
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

std::string ConfirmedText(std::size_t runs) {
  return runs == 1 ? "unconfirmed, 1 run" : fmt::format("confirmed by {} runs", runs);
}

}  // namespace dlroof::statistics
