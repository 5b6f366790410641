#include "baselines/statistics/judge_stored.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <numeric>

#include "baselines/statistics/learned_levels.h"
#include "baselines/statistics/robust.h"
#include "baselines/statistics/shift.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"

namespace dlroof::statistics {
namespace {

constexpr double kMinOfProgram = 0.02;   // [1] benchmarks and ceilings that disagree by more
constexpr double kMinRoofError = 0.004;  // [1]
// Fewer benchmarks cannot tell the changes of some from a factor of all.
constexpr std::size_t kMinForFactor = kMinShifts;
constexpr std::size_t kMinForScatter = 4;  // benchmarks
constexpr std::size_t kExactUpTo = 40;     // benchmarks: the factor is estimated without each one
// [1] Run noise without history: the assumed one counts as much as this many benchmarks.
constexpr double kAssumedBenchmarks = 5;
constexpr double kRunsOfPrior = 10;  // [1] the mean of all benchmarks counts as so many runs
// [1] Processes differ with heavier tails than a normal distribution has: one may be much slower
// than the next for as long as it lives (baselines/stored/zen5-2c, 2026-11-22-lstm*.json).
constexpr double kDegreesBetween = 6;
constexpr double kChanceOfWild = 0.005;  // [1]
constexpr double kMemoryOfWild = 0.3, kMaxMemory = 0.7;
constexpr std::size_t kMinForMemory = 10;  // benchmarks
constexpr double kMinNoise = 0.001;        // [1] deviation of a run
constexpr double kTarget = 0.035;          // [1] the change that the weights are chosen for
constexpr double kForSlower = 1.7;         // [1] weight of slowdowns; 2 minus it of speedups
constexpr double kMinWeight = 0.05, kMaxWeight = 4;
constexpr std::size_t kMaxForWeights = 2000;  // benchmarks, to find the weights' mean
constexpr double kMinEffect = 0.02, kMaxEffect = 0.10;
constexpr double kExcludeAndShow = 1.96 + 1.28;  // standard errors
constexpr double kRoofMoved = 0.03;              // [1] a roof's own shift that explains a change

struct Row {
  Levels levels;
  Spread repetition;     // moderated
  double between = 0;    // variance of one run
  double degrees = 0;    // of `between`
  Estimate factor;       // logarithm
  double log_ratio = 0;  // without the factor
  double deviation = 0;  // standard error
  double freedom = 0;    // degrees of freedom
};

// What is known of the factor between the two runs, for one device.
struct Factor {
  Estimate benchmarks;  // of all of them
  std::optional<RoofShift> roofs;
  RemovedFactor removed;
};

class JudgingStored {
 public:
  JudgingStored(const std::vector<Candidate>& candidates, const JudgeSettings& settings)
      : candidates_(candidates), settings_(settings), rows_(candidates.size()) {}

  Judged Finish() {
    std::map<int, std::vector<std::size_t>> devices;
    for (std::size_t i = 0; i < rows_.size(); ++i) devices[candidates_[i].device].push_back(i);
    for (const auto& [device, members] : devices) FindLevels(device, members);
    ModerateRepetitions();
    LearnNoise();
    std::size_t most = 0;
    for (const auto& [device, members] : devices) {
      const Factor factor = FindFactor(device, members);
      if (members.size() <= most) continue;
      most = members.size();
      judged_.removed = factor.removed;
      DescribeCommon(factor, members);
    }
    ChooseMinEffect();
    Decide();
    return std::move(judged_);
  }

 private:
  void FindLevels(int device, const std::vector<std::size_t>& members) {
    const auto factors = FactorsOfRuns(candidates_, device, settings_.fastest_share);
    ParallelFor(members.size(), [&](std::size_t at) {
      rows_[members[at]].levels =
          LevelsOf(candidates_[members[at]], factors, settings_.fastest_share);
    });
  }

  void ModerateRepetitions() {
    std::vector<Spread> spreads;
    for (const auto& row : rows_)
      if (row.levels.repetition.variance > 0) spreads.push_back(row.levels.repetition);
    const SpreadPrior prior = PriorOfSpreads(spreads);
    const double usual = UsualMemory();
    std::map<double, double> limits;
    for (auto& row : rows_) {
      const Spread& own = row.levels.repetition;
      const bool wild = IsWild(own, prior, limits);
      row.repetition = row.levels.within > 0 || wild ? own : prior.Moderated(own);
      const double memory =
          wild ? std::clamp(row.levels.memory, std::max(usual, kMemoryOfWild), kMaxMemory) : usual;
      const double fewer = (1 + memory) / (1 - memory);
      row.repetition.variance *= fewer;
      row.repetition.degrees = std::max(row.repetition.degrees / fewer, 1.0);
    }
  }

  // Returns the median correlation of repetitions that follow each other; at least 0.
  double UsualMemory() const {
    std::vector<double> memories;
    for (const auto& row : rows_)
      if (row.levels.repetition.degrees > 0) memories.push_back(row.levels.memory);
    if (memories.size() < kMinForMemory) return 0;
    return std::clamp(Median(std::move(memories)), 0.0, kMaxMemory);
  }

  // Returns whether a benchmark scatters more than the other ones' scatter lets one expect: it has
  // two speeds that were not told apart, say. Such speeds last for some repetitions, which then say
  // less than their number.
  // `limits`: the limits by degrees of freedom that are known already.
  static bool IsWild(const Spread& own, const SpreadPrior& prior,
                     std::map<double, double>& limits) {
    if (!(own.degrees > 0) || !(prior.variance > 0) || !(prior.degrees > 0)) return false;
    auto limit = limits.find(own.degrees);
    if (limit == limits.end()) {
      const boost::math::fisher_f_distribution<double> law(own.degrees, prior.degrees);
      limit = limits.emplace(own.degrees, quantile(complement(law, kChanceOfWild))).first;
    }
    return own.variance / prior.variance > limit->second;
  }

  // Sets the variance between runs of each benchmark from its earlier runs, shrunk to the mean.
  void LearnNoise() {
    std::vector<std::pair<double, double>> variances;  // and their weights
    std::vector<Spread> own(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      own[i] = rows_[i].levels.Between(rows_[i].repetition.variance);
      if (own[i].degrees > 0) variances.emplace_back(own[i].variance, own[i].degrees);
    }
    if (variances.empty()) return;
    // The largest twentieth may be changes of the program that were not recognised.
    std::ranges::sort(variances);
    variances.resize(variances.size() - variances.size() / 20);
    double sum = 0, runs = 0;
    for (const auto& [variance, weight] : variances) {
      sum += weight * variance;
      runs += weight;
    }
    const double mean = std::max(sum / runs, kMinNoise * kMinNoise);
    learnt_ = true;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto& [variance, degrees] = own[i];
      rows_[i].degrees = degrees + kRunsOfPrior;
      rows_[i].between = std::max((degrees * variance + kRunsOfPrior * mean) / rows_[i].degrees,
                                  kMinNoise * kMinNoise);
      judged_.noise.degrees = std::max(judged_.noise.degrees, degrees);
    }
  }

  std::vector<Estimate> RatiosOf(const std::vector<std::size_t>& members) const {
    std::vector<Estimate> ratios;
    ratios.reserve(members.size());
    for (const auto i : members)
      ratios.push_back({rows_[i].levels.log_ratio,
                        rows_[i].levels.Variance(rows_[i].repetition.variance, rows_[i].between)});
    return ratios;
  }

  // Returns the deviation of a run beyond what was learnt, from the scatter of these ratios.
  double ExtraNoise(const std::vector<std::size_t>& members, const std::vector<Estimate>& ratios) {
    const auto centre = BiweightLocation(ratios, learnt_ ? 0 : kUsualRunNoise / 2);
    const auto count = static_cast<double>(ratios.size());
    double own = 0;
    if (ratios.size() >= kMinForScatter) {
      const auto central = CentralDeviation(ratios, centre->value);
      if (central && *central < kMaxRunNoise) {
        own = *central;
      } else {
        std::vector<Shift> shifts;
        for (const auto i : members) shifts.push_back(candidates_[i].shift);
        own = DeviationBetweenRuns(shifts).value_or(kMaxRunNoise);
        // So many changed that their spread is not noise.
        if (own == kMaxRunNoise) own = settings_.usual_noise;
      }
    }
    if (learnt_) return own;
    const double assumed = 0.7 * settings_.usual_noise;
    const double noise = std::sqrt((count * own * own + kAssumedBenchmarks * assumed * assumed) /
                                   (count + kAssumedBenchmarks));
    return std::max(noise, kMinNoise);
  }

  // Returns the factor that nearly all benchmarks share, if they are enough, most of them agree and
  // it is small enough for a machine's drift. A larger one is not removed without the ceilings.
  static std::optional<Estimate> SharedFactor(const std::vector<Estimate>& ratios, double noise,
                                              bool has_roofs) {
    if (ratios.size() < kMinForFactor) return std::nullopt;
    const auto location = BiweightLocation(ratios, noise);
    if (!CentralDeviation(ratios, location->value)) return std::nullopt;
    if (!has_roofs && std::abs(location->value) > kMaxDrift) return std::nullopt;
    return location;
  }

  // Combines benchmarks and ceilings; sets what the two say together.
  Estimate Combined(const std::optional<Estimate>& benchmarks,
                    const std::optional<RoofShift>& roofs, RemovedFactor& removed) const {
    if (!benchmarks && !roofs) {
      removed.assumed = true;
      const bool by_processes = std::ranges::all_of(
          candidates_, [](const Candidate& one) { return !one.processes.base.empty(); });
      // A run of one process differs from the next by twice as much as one of several does.
      const double error = (by_processes ? 1 : 2) * settings_.usual_noise;
      return {0, error * error};
    }
    if (!roofs) return *benchmarks;
    const double error = std::max(roofs->standard_error, kMinRoofError);
    const Estimate machine{roofs->log_ratio, error * error};
    removed.ceilings = roofs->ceilings;
    if (!benchmarks) return machine;
    const double apart = std::abs(benchmarks->value - machine.value);
    // Few ceilings tell their own scatter badly (about Student's t).
    const double errors = 3.5 * (1 + 3 / std::max(roofs->ceilings - 1.0, 1.0));
    if (apart >
        std::max(errors * std::sqrt(benchmarks->variance + machine.variance), kMinOfProgram)) {
      removed.by_ceilings = true;
      return machine;
    }
    const double one = 1 / benchmarks->variance, other = 1 / machine.variance;
    return {(one * benchmarks->value + other * machine.value) / (one + other), 1 / (one + other)};
  }

  Factor FindFactor(int device, const std::vector<std::size_t>& members) {
    Factor factor;
    const auto ratios = RatiosOf(members);
    const double noise = ExtraNoise(members, ratios);
    if (const auto found = settings_.roofs.find(device); found != settings_.roofs.end())
      factor.roofs = found->second;
    const auto shared = SharedFactor(ratios, noise, factor.roofs.has_value());
    factor.benchmarks = shared.value_or(*BiweightLocation(ratios, noise));
    factor.removed.benchmarks = static_cast<int>(shared ? members.size() : 0);
    const Estimate common = Combined(shared, factor.roofs, factor.removed);
    factor.removed.log_ratio = common.value;
    factor.removed.standard_error = std::sqrt(common.variance);
    for (std::size_t at = 0; at < members.size(); ++at) {
      Row& row = rows_[members[at]];
      row.factor = common;
      if (shared && members.size() <= kExactUpTo && !factor.removed.by_ceilings)
        row.factor = WithoutOne(ratios, at, noise, factor);
      SetError(noise, ratios[at], members.size(), row);
    }
    return factor;
  }

  Estimate WithoutOne(const std::vector<Estimate>& ratios, std::size_t at, double noise,
                      const Factor& factor) const {
    auto others = ratios;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(at));
    RemovedFactor unused;
    return Combined(BiweightLocation(others, noise), factor.roofs, unused);
  }

  void SetError(double noise, const Estimate& ratio, std::size_t benchmarks, Row& row) {
    const double within = row.levels.Variance(row.repetition.variance, 0);
    const double between = ratio.variance - within + 2 * noise * noise;
    const double variance = within + between + row.factor.variance;
    row.log_ratio = row.levels.log_ratio - row.factor.value;
    row.deviation = std::sqrt(std::max(variance, 1e-12));
    const auto count = static_cast<double>(benchmarks);
    const double between_degrees = learnt_ ? row.degrees : kDegreesBetween;
    const double spread = within * within / row.repetition.degrees +
                          between * between / between_degrees +
                          row.factor.variance * row.factor.variance / std::max(count - 1, 5.0);
    row.freedom = spread > 0 ? variance * variance / spread : 1e6;
    noises_.push_back(std::sqrt(std::max(between, 0.0) / 2));
  }

  // A factor that ceilings do not explain is the program's or the machine's: it is shown.
  void DescribeCommon(const Factor& factor, const std::vector<std::size_t>& members) {
    judged_.common.reset();
    if (factor.roofs ? !factor.removed.by_ceilings : members.size() < kMinForFactor) return;
    CommonShift common{.log_ratio = factor.benchmarks.value,
                       .benchmarks = static_cast<int>(members.size()),
                       .standard_error = std::sqrt(factor.benchmarks.variance)};
    common.is_unexplained =
        !factor.roofs && std::abs(common.log_ratio) - 1.96 * common.standard_error >
                             std::log1p(settings_.min_effect.value_or(kMinEffect));
    std::vector<double> logs;
    for (const auto i : members) {
      logs.push_back(rows_[i].levels.log_ratio);
      common.same_way += logs.back() * common.log_ratio > 0 ? 1 : 0;
    }
    std::ranges::sort(logs);
    const std::size_t count = logs.size();
    common.middle = {logs[count / 4], logs[count - 1 - count / 4]};
    if (factor.removed.by_ceilings) {
      common.roofs = RoofEvidence::kDidNotMove;
      common.roof_log_ratio = factor.roofs->log_ratio;
    }
    judged_.common = common;
  }

  void ChooseMinEffect() {
    std::vector<double> deviations;
    for (const auto& row : rows_) deviations.push_back(row.deviation);
    const double typical = Median(std::move(deviations));
    judged_.noise.deviation = Median(noises_);
    judged_.noise.from =
        learnt_
            ? fmt::format("learnt from up to {:.0f} earlier runs", judged_.noise.degrees)
            : fmt::format("from the scatter of {} benchmarks over these two runs", rows_.size());
    if (judged_.noise.deviation > kMaxRunNoise)
      judged_.noise.from += "; the machine's state changed: run --ab compares interleaved";
    if (settings_.min_effect) {
      judged_.min_effect = *settings_.min_effect;
      judged_.min_effect_from = "as asked for";
      return;
    }
    judged_.min_effect = std::clamp(std::expm1(kExcludeAndShow * typical), kMinEffect, kMaxEffect);
    judged_.min_effect_from = fmt::format(
        "from these runs: a typical ratio has a standard error of {:.1f} %", 100 * typical);
  }

  // Weights of the p-values with a mean of 1: for normal errors and a change of kTarget they
  // maximise the number of changes found (Roeder and Wasserman, Statistical Science 24 (2009) 398).
  std::vector<double> Weights() const {
    constexpr double kChance = 0.01;  // [1] of an unchanged benchmark, about
    const auto weight_at = [&](double cost, std::size_t i) {
      const double effect = kTarget / rows_[i].deviation;
      const double tail = std::erfc((effect / 2 + cost / effect) / std::numbers::sqrt2) / 2;
      return std::clamp(tail / kChance, kMinWeight, kMaxWeight);
    };
    const std::size_t step = 1 + rows_.size() / kMaxForWeights;
    const auto mean_at = [&](double cost) {
      double sum = 0, count = 0;
      for (std::size_t i = 0; i < rows_.size(); i += step, ++count) sum += weight_at(cost, i);
      return sum / count;
    };
    double low = -50, high = 50;
    for (int i = 0; i < 40; ++i) {
      const double middle = (low + high) / 2;
      (mean_at(middle) > 1 ? low : high) = middle;
    }
    std::vector<double> weights(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) weights[i] = weight_at(high, i);
    const double mean =
        std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
    for (double& weight : weights) weight /= mean;
    return weights;
  }

  void Decide() {
    const auto weights = Weights();
    std::vector<double> chances(2 * rows_.size()), halves(rows_.size());
    ParallelFor(rows_.size(), [&](std::size_t i) {
      const double t = rows_[i].log_ratio / rows_[i].deviation;
      const double half = halves[i] = StudentTwoSided(t, rows_[i].freedom) / 2;
      const double up = t > 0 ? half : 1 - half, down = 1 - up;
      chances[2 * i] = std::min(up / (weights[i] * kForSlower), 1.0);
      chances[2 * i + 1] = std::min((t > 0 ? down : half) / (weights[i] * (2 - kForSlower)), 1.0);
    });
    const auto adjusted = AdjustedPValues(chances);
    judged_.each.resize(rows_.size());
    ParallelFor(rows_.size(), [&](std::size_t i) {
      const Row& row = rows_[i];
      Judgement& judgement = judged_.each[i];
      const double reach = StudentQuantile95(row.freedom) * row.deviation;
      judgement.ratio = std::exp(row.log_ratio);
      judgement.ci95 = {std::exp(row.log_ratio - reach), std::exp(row.log_ratio + reach)};
      judgement.p_value = 2 * halves[i];
      judgement.adjusted_p = adjusted[2 * i + (row.log_ratio > 0 ? 0 : 1)];
      judgement.removed = std::exp(row.factor.value);
      judgement.earlier_runs = row.levels.earlier_runs;
      DecideOne(candidates_[i], row, judgement);
    });
  }

  void DecideOne(const Candidate& candidate, const Row& row, Judgement& judgement) const {
    const double bound = std::log1p(judged_.min_effect);
    const double least = settings_.min_effect ? bound : std::min(bound, std::log1p(kMinChange));
    const auto& [low, high] = judgement.ci95;
    const bool excludes = low > 1 || high < 1;
    const bool beyond = std::abs(row.log_ratio) > least;
    const bool sure = excludes && judgement.adjusted_p <= kFalseDiscoveryRate;
    const char* way = row.log_ratio > 0 ? "slower" : "faster";
    judgement.verdict = Verdict::kAmbiguous;
    if (beyond && sure && RoofExplains(candidate, row)) {
      judgement.reason = fmt::format(
          "seconds and percent of roof disagree: {} by {:.3f} in seconds, while its own roof moved "
          "by {:.3f} more than the others",
          way, judgement.ratio,
          std::exp(*candidate.roof_log_ratio - settings_.roofs.at(candidate.device).log_ratio));
    } else if (beyond && sure) {
      judgement.verdict = row.log_ratio > 0 ? Verdict::kSlower : Verdict::kFaster;
    } else if (std::log(low) >= -bound && std::log(high) <= bound) {
      judgement.verdict = Verdict::kSame;
    } else {
      judgement.reason = IntervalReason(beyond, !excludes, judged_.min_effect);
    }
  }

  bool RoofExplains(const Candidate& candidate, const Row& row) const {
    const auto roofs = settings_.roofs.find(candidate.device);
    if (!candidate.roof_log_ratio || roofs == settings_.roofs.end()) return false;
    const double own = *candidate.roof_log_ratio - roofs->second.log_ratio;
    return std::abs(own) > std::max(kRoofMoved, 4 * roofs->second.standard_error) &&
           own * row.log_ratio > 0 && std::abs(own) > std::abs(row.log_ratio) / 2;
  }

  const std::vector<Candidate>& candidates_;
  const JudgeSettings& settings_;
  std::vector<Row> rows_;
  std::vector<double> noises_;
  bool learnt_ = false;
  Judged judged_;
};

}  // namespace

bool IsForStored(const std::vector<Candidate>& candidates, const JudgeSettings& settings) {
  return settings.look_for_common_shift && !settings.run_noise &&
         std::ranges::any_of(candidates, [](const Candidate& one) {
           return !one.processes.base.empty() ||
                  (!one.base_logs.empty() && !one.contender_logs.empty());
         });
}

Judged JudgeStored(const std::vector<Candidate>& candidates, const JudgeSettings& settings) {
  return JudgingStored(candidates, settings).Finish();
}

std::pair<double, double> RemovedFactor::Interval() const {
  const double reach = 1.96 * standard_error;
  return {std::exp(log_ratio - reach), std::exp(log_ratio + reach)};
}

std::string Describe(const RemovedFactor& removed) {
  const auto [low, high] = removed.Interval();
  const auto factor =
      fmt::format("{:.3f} ({:.3f} to {:.3f})", std::exp(removed.log_ratio), low, high);
  const auto ceilings = fmt::format("{} ceilings", removed.ceilings);
  if (removed.assumed)
    return fmt::format(
        "nothing tells how much faster or slower the machine was in one of the two runs: {} is "
        "assumed (measure the ceilings for each run: dlroof machine --remeasure)",
        factor);
  if (removed.by_ceilings)
    return fmt::format("removed from all ratios: a factor of {} by which {} moved", factor,
                       ceilings);
  return fmt::format("removed from all ratios: a factor of {} that {}{}{} share", factor,
                     removed.benchmarks > 0 ? fmt::format("{} benchmarks", removed.benchmarks) : "",
                     removed.benchmarks > 0 && removed.ceilings > 0 ? " and " : "",
                     removed.ceilings > 0 ? ceilings : "");
}

}  // namespace dlroof::statistics
