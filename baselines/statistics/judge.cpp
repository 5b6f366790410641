#include "baselines/statistics/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/polygamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
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
constexpr double kMinRunNoise = 0.001;   // [1] deviation: runs of quiet machines agree to it
constexpr double kMinRoofError = 0.004;  // [1]
constexpr double kMaxRunNoise =
    0.03;                             // [1] deviation: runs of one process on quiet hosts have 0.02
constexpr double kFar = 3.5;          // [standard errors] a run of another level
constexpr double kManyDegrees = 1e6;  // of freedom of an error that is known
constexpr double kWindow = 2.5;       // [standard errors] of central values
constexpr double kMeanSquare = 0.911;  // of a normal value within kWindow
constexpr int kSteps = 20;             // of a bisection

double Square(double value) { return value * value; }

// Returns x with trigamma(x) = value (Newton's method, Smyth's appendix).
double InverseTrigamma(double value) {
  double x = 0.5 + 1 / value;
  for (int i = 0; i < 50; ++i) {
    const double now = boost::math::trigamma(x);
    const double step = now * (1 - now / value) / boost::math::polygamma(2, x);
    x += step;
    if (-step / x < 1e-8) break;
  }
  return x;
}

// Returns the weighted mean of the values within kWindow of `centre`, if `between` is added to
// their variances. Sets `scatter` to their scatter relative to the expected one.
Centre CentralMean(const std::vector<Estimate>& values, double centre, double between,
                   double& scatter) {
  Centre mean{.between = between};
  double weights = 0, squares = 0;
  for (const auto& [value, variance] : values) {
    const double total = std::max(variance + between, 1e-16);
    const double square = Square(value - centre) / total;
    if (square > kWindow * kWindow) continue;
    mean.value += value / total;
    weights += 1 / total;
    squares += square;
    ++mean.inside;
  }
  mean.value = weights > 0 ? mean.value / weights : centre;
  mean.variance = weights > 0 ? 1 / weights : between;
  scatter = mean.inside > 0 ? squares / mean.inside / kMeanSquare : 2;
  return mean;
}

// Returns the centre that iteration from `centre` finds, with this share of the values inside.
Centre CentreFrom(const std::vector<Estimate>& values, double centre, double least_inside) {
  constexpr double kMaxBetween = 0.5, kStep = 1.25;  // [1] deviation, and a factor of it
  constexpr int kIterations = 20;
  Centre found;
  for (int step = 0; step < kIterations; ++step) {
    const auto explains = [&](double between) {
      double scatter = 0;
      found = CentralMean(values, centre, between * between, scatter);
      return scatter <= 1 && found.inside >= least_inside * static_cast<double>(values.size());
    };
    if (!explains(0)) {
      // The least one: where a group of changed values comes into the window, others explain, too.
      double low = 0, high = kMinRunNoise;
      for (; high < kMaxBetween && !explains(high); high *= kStep) low = high;
      for (int i = 0; i < kSteps; ++i) {
        const double middle = (low + high) / 2;
        (explains(middle) ? high : low) = middle;
      }
      explains(high);
    }
    if (std::abs(found.value - centre) < 1e-9) break;
    centre = found.value;
  }
  return found;
}

double MiddleOfShortestHalf(const std::vector<Estimate>& values) {
  std::vector<double> sorted;
  for (const auto& one : values) sorted.push_back(one.value);
  std::ranges::sort(sorted);
  const std::size_t reach = sorted.size() / 2;
  std::size_t best = 0;
  for (std::size_t i = 1; i + reach < sorted.size(); ++i)
    if (sorted[i + reach] - sorted[i] < sorted[best + reach] - sorted[best]) best = i;
  return (sorted[best] + sorted[best + reach]) / 2;
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
  bool scatters = false;  // all benchmarks scatter between the two runs more than kMaxRunNoise
  double log_ratio = 0;   // [1] without the common shift
  double removed = 0;     // [1] that shift
  double removed_variance = 0;

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
    std::map<int, std::vector<std::size_t>> devices;
    for (std::size_t i = 0; i < rows_.size(); ++i) devices[candidates_[i].device].push_back(i);
    for (const auto& [device, members] : devices) FindRuns(members);
    FindWithin();
    const bool learnt = !settings_.run_noise && LearnBetween();
    std::size_t most = 0;
    for (const auto& [device, members] : devices) {
      const CommonShift common = FindCommon(device, members, learnt);
      if (members.size() <= most || !settings_.look_for_common_shift) continue;
      most = members.size();
      judged_.common = common;
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
    for (const auto& [base, contender, earlier, floor, device, interleaved] : candidates_) {
      Spread spread{base.degrees * base.variance + contender.degrees * contender.variance,
                    base.degrees + contender.degrees};
      for (const auto& [run, level] : earlier) {
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

  // Finds the common shift of a device's benchmarks and their scatter around it, and takes the
  // shift out of the ratios where that is right.
  CommonShift FindCommon(int device, const std::vector<std::size_t>& members, bool learnt) {
    CommonShift common{.benchmarks = static_cast<int>(members.size())};
    std::vector<Estimate> ratios;
    for (const auto i : members)
      ratios.push_back({rows_[i].log_ratio, rows_[i].within + rows_[i].between});
    const Centre centre = CentreOf(ratios);
    common.log_ratio = centre.value;
    common.standard_error = std::sqrt(centre.variance);
    const auto roofs = settings_.roofs.find(device);
    if (roofs != settings_.roofs.end()) common.roofs = roofs->second;
    if (settings_.look_for_common_shift) ChooseRemoved(common);
    for (const auto i : members) {
      Row& row = rows_[i];
      if (settings_.run_noise) {
        row.between = 2 * Square(*settings_.run_noise);
      } else if (common.is_known()) {
        const double least = learnt ? 2 * Square(kMinRunNoise) : Square(kFloorOfDevice);
        row.between = std::max(row.between + centre.between, least);
        if (!learnt) row.between_degrees = centre.inside - 1;
        row.scatters = !learnt && row.between > 2 * Square(kMaxRunNoise);
      } else if (!learnt) {
        row.between = Square(candidates_[i].floor);
      }
      row.removed = common.removed;
      row.removed_variance = Square(common.removed_error);
      row.log_ratio -= row.removed;
    }
    return common;
  }

  void ChooseRemoved(CommonShift& common) const {
    const Estimate benchmarks{common.log_ratio, Square(common.standard_error)};
    if (!common.roofs) {
      // Of few benchmarks only a slowdown asks for an answer: none of them can be told from drift.
      const double size = common.is_known() ? std::abs(common.log_ratio) : common.log_ratio;
      common.is_unexplained = size - 1.96 * common.standard_error >
                              std::log1p(settings_.min_effect.value_or(kMinEffect));
      if (!common.is_known() && size > kMaxDrift) common.is_unexplained = false;
      if (!common.is_known()) return;
      if (std::abs(common.log_ratio) > kMaxDrift) return;
      common.removed = benchmarks.value;
      common.removed_error = common.standard_error;
      return;
    }
    const double error = std::max(common.roofs->standard_error, kMinRoofError);
    common.removed = common.roofs->log_ratio;
    common.removed_error = error;
    if (!common.is_known()) return;
    // Few ceilings tell their own scatter badly (about Student's t).
    const double far = kFar * (1 + 3 / std::max(common.roofs->ceilings - 1.0, 1.0));
    const double apart = std::abs(common.log_ratio - common.removed);
    common.is_of_program =
        apart > std::max(far * std::hypot(error, common.standard_error), kMinEffect);
    if (common.is_of_program) return;
    const double one = 1 / benchmarks.variance, other = 1 / Square(error);
    common.removed = (one * benchmarks.value + other * common.removed) / (one + other);
    common.removed_error = 1 / std::sqrt(one + other);
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
          fmt::format("from the scatter of {} benchmarks over these two runs", rows_.size());
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

  // Returns weights of the p-values with a mean of 1, so that benchmarks that are too uncertain to
  // show kTarget cost the others little (Roeder and Wasserman 2009, for normal errors).
  std::vector<double> Weights() const {
    constexpr double kTarget = 0.035, kChance = 0.01;  // [1] a change; chance of unchanged ones
    constexpr double kMinWeight = 0.05, kMaxWeight = 4, kMaxCost = 50;
    const auto weights_at = [&](double cost) {
      std::vector<double> weights;
      for (const auto& row : rows_) {
        const double effect = kTarget / std::max(row.deviation(), 1e-9);
        const double tail = std::erfc((effect / 2 + cost / effect) / std::sqrt(2.0)) / 2;
        weights.push_back(std::clamp(tail / kChance, kMinWeight, kMaxWeight));
      }
      return weights;
    };
    const auto mean_of = [](const std::vector<double>& weights) {
      return std::accumulate(weights.begin(), weights.end(), 0.0) /
             static_cast<double>(weights.size());
    };
    double low = -kMaxCost, high = kMaxCost;
    for (int i = 0; i < kSteps; ++i) {
      const double middle = (low + high) / 2;
      (mean_of(weights_at(middle)) > 1 ? low : high) = middle;
    }
    auto weights = weights_at(high);
    const double mean = mean_of(weights);
    for (double& weight : weights) weight /= mean;
    return weights;
  }

  void Decide() {
    const auto weights = Weights();
    std::vector<double> slower(rows_.size()), faster(rows_.size());  // one-sided p-values
    judged_.each.resize(rows_.size());
    ParallelFor(rows_.size(), [&](std::size_t i) {
      const Row& row = rows_[i];
      Judgement& judgement = judged_.each[i];
      const double deviation = std::max(row.deviation(), 1e-9), degrees = row.degrees();
      const double reach = StudentQuantile(degrees) * deviation;
      std::pair<double, double> ci95 = {row.log_ratio - reach, row.log_ratio + reach};
      judgement.p_value = StudentTwoSided(row.log_ratio / deviation, degrees);
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
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (candidates_[i].interleaved) continue;
      slower[i] = std::min(slower[i] / weights[i], 1.0);
      faster[i] = std::min(faster[i] / weights[i], 1.0);
    }
    slower = AdjustedPValues(slower);
    faster = AdjustedPValues(faster);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      judged_.each[i].adjusted_p = rows_[i].log_ratio > 0 ? slower[i] : faster[i];
      DecideOne(i);
    }
  }

  // Returns in which other view of the times a change of this sign does not hold, or null:
  // - against each of two stored runs (three or more have a median, which outvotes one);
  // - at all, if the benchmarks scatter between the two runs by more than kMaxRunNoise;
  // - as measured, if only the benchmarks themselves tell their common shift;
  // - in the fastest repetitions of one process: neighbours make calls slower, never faster.
  const char* NotIn(std::size_t i, double sign) const {
    const Row& row = rows_[i];
    const auto& candidate = candidates_[i];
    if (!settings_.look_for_common_shift) return nullptr;
    const auto holds = [&](double log_ratio) { return sign * log_ratio >= kInOtherViews; };
    if (row.runs.size() == 2 && !std::ranges::all_of(row.runs, [&](double run) {
          return holds(row.log_ratio + row.base - run);
        }))
      return "than each of the two stored runs";
    if (row.scatters)
      return "by more than these two runs scatter: run several processes, or --again";
    if (!settings_.roofs.contains(candidate.device) && !holds(row.log_ratio + row.removed))
      return "as measured: all benchmarks moved";
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
  if (common.roofs) {
    const auto roofs =
        fmt::format("{} ceilings that both runs measured moved by {}", common.roofs->ceilings,
                    FactorText(common.roofs->log_ratio, common.roofs->standard_error));
    if (!common.is_known())
      lines.push_back(fmt::format("{}: removed from all ratios", roofs));
    else if (common.is_of_program)
      lines.push_back(fmt::format(
          "{}; {}, which is removed from all ratios: the rest is of the program, its libraries or "
          "settings",
          all, roofs));
    else
      lines.push_back(fmt::format("{}; {}: removed from all ratios is {}", all, roofs,
                                  FactorText(common.removed, common.removed_error)));
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
        "program or machine? Measure again beside the old program (--again now), or the ceilings "
        "for each run (dlroof machine --remeasure)");
  return lines;
}

std::vector<Spread> Moderated(const std::vector<Spread>& own) {
  // Benchmarks whose noise is between 1 and 3 % have log variances that scatter by 0.4; that counts
  // as much as five benchmarks.
  constexpr double kAssumedScatter = 0.4, kAssumedCount = 5, kMinScatter = 0.01;
  std::vector<double> logs;
  double sampling = 0, all_degrees = 0;
  for (const auto& [variance, degrees] : own) {
    if (!(variance > 0) || !(degrees > 0)) continue;
    logs.push_back(std::log(variance) - boost::math::digamma(degrees / 2) + std::log(degrees / 2));
    sampling += boost::math::trigamma(degrees / 2);
    all_degrees += degrees;
  }
  if (logs.empty()) return own;
  const auto count = static_cast<double>(logs.size());
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / count;
  double squares = 0;
  for (const double one : logs) squares += Square(one - mean);
  const double scatter = count > 1 ? std::max(squares / (count - 1) - sampling / count, 0.0) : 0;
  const double half = InverseTrigamma(std::max(
      (count * scatter + kAssumedCount * kAssumedScatter) / (count + kAssumedCount), kMinScatter));
  const double usual = std::exp(mean + boost::math::digamma(half) - std::log(half));
  std::vector<Spread> moderated;
  for (const auto& [variance, degrees] : own) {
    const double all = degrees + 2 * half;
    moderated.push_back(
        {(degrees * variance + 2 * half * usual) / all, std::min(all, all_degrees)});
  }
  return moderated;
}

Centre CentreOf(const std::vector<Estimate>& values) {
  constexpr double kAlike = 2, kMuchLess = 16;  // [1] ratios of two scatters
  constexpr int kBothWays = 10;                 // values on each side that are no coincidence
  const auto with_inside = [&](double inside) {
    const Centre from_no_shift = CentreFrom(values, 0, inside),
                 from_most = CentreFrom(values, MiddleOfShortestHalf(values), inside);
    return from_no_shift.between <= kAlike * from_most.between + Square(kMinRunNoise)
               ? from_no_shift
               : from_most;
  };
  Centre centre = with_inside(0.7);
  if (const Centre fewer = with_inside(0.4);
      centre.between > Square(kFloorOfOneProcess) &&
      kMuchLess * (fewer.between + Square(kMinRunNoise)) < centre.between)
    centre = fewer;
  int above = 0, below = 0;
  for (const auto& [value, variance] : values) {
    const double distance = value - centre.value;
    if (Square(distance) <= Square(kWindow) * (variance + centre.between)) continue;
    ++(distance > 0 ? above : below);
  }
  const auto [fewer, more] = std::minmax(above, below);
  if (fewer < kBothWays || 10 * fewer < std::ssize(values) || 2 * fewer < more) return centre;
  double squares = 0, count = 0;
  for (const auto& [value, variance] : values) {
    if ((value > centre.value) != (above < below)) continue;
    squares += Square(value - centre.value);
    ++count;
  }
  centre.between = std::max(centre.between, squares / count);
  return centre;
}

Judged Judge(const std::vector<Candidate>& candidates, const JudgeSettings& settings) {
  return JudgeOfRuns(candidates, settings).Finish();
}

}  // namespace dlroof::statistics
