#include "baselines/statistics/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "baselines/statistics/judge_stored.h"
#include "baselines/statistics/shift.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/base/process.h"

namespace dlroof::statistics {
namespace {

// [1] Largest RunNoise::drift. A larger drift is reported as a common shift instead.
constexpr double kMaxNoiseDrift = 0.02;
constexpr double kMedianOfChiSquare = 0.454936;  // with one degree of freedom

double Centre(const std::vector<Shift>& shifts) {
  std::vector<double> logs;
  logs.reserve(shifts.size());
  for (const auto& shift : shifts) logs.push_back(shift.log_ratio);
  return Median(std::move(logs));
}

bool Explains(double deviation, double centre, const std::vector<Shift>& shifts) {
  const double between = 2 * deviation * deviation;
  std::size_t near = 0;
  for (const auto& shift : shifts) {
    const double distance = shift.log_ratio - centre;
    const double variance = shift.standard_error * shift.standard_error + between;
    near += distance * distance <= kMedianOfChiSquare * variance ? 1 : 0;
  }
  return 2 * near >= shifts.size();
}

// Returns the least deviation of one run, from `low` to `high`, that explains the spread of the
// shifts around `centre`, or `high` if none does.
double LeastThatExplains(double low, double high, double centre, const std::vector<Shift>& shifts) {
  if (Explains(low, centre, shifts)) return low;
  for (int i = 0; i < 30; ++i) {
    const double middle = (low + high) / 2;
    (Explains(middle, centre, shifts) ? high : low) = middle;
  }
  return high;
}

// Estimates the deviation once from the slower and once from the faster benchmarks, each as half of
// a symmetrical spread, and returns the smaller one: changes in only one direction do not count.
double DeviationBothWays(const std::vector<Shift>& shifts) {
  std::vector<Shift> slower, faster;
  for (const auto& shift : shifts) (shift.log_ratio > 0 ? slower : faster).push_back(shift);
  if (2 * std::min(slower.size(), faster.size()) < kMinShifts) return kMaxRunNoise;
  return std::min(LeastThatExplains(kMaxRunNoise, kMaxNoiseBothWays, 0, slower),
                  LeastThatExplains(kMaxRunNoise, kMaxNoiseBothWays, 0, faster));
}

// Fewer benchmarks have no common shift: 10 move in one direction by chance in 1 of 512 runs.
constexpr int kMinForCommon = 10;
constexpr double kNearlyAll = 0.9;
// [1] Ratio of the roofs' shift to the common shift. Below kUnmoved the machine did not cause the
// common shift, above kMoved it did.
constexpr double kUnmoved = 0.25, kMoved = 0.5;

// One benchmark's shift from BASE to NEW, in logarithms.
struct Movement {
  double log_ratio = 0;  // [1] of its seconds
  double deviation = 0;  // [1] standard error of log_ratio, including the noise between runs
  std::optional<double> roof_log_ratio;  // [1] of its roof time, if each run measured its ceilings
};

void AddEvidence(const std::vector<Movement>& movements, CommonShift& common) {
  std::vector<double> roofs;
  for (const auto& movement : movements)
    if (movement.roof_log_ratio) roofs.push_back(*movement.roof_log_ratio);
  if (2 * roofs.size() < movements.size()) return;
  common.roof_log_ratio = Median(std::move(roofs));
  const double part = *common.roof_log_ratio / common.log_ratio;
  if (std::abs(part) <= kUnmoved) common.roofs = RoofEvidence::kDidNotMove;
  if (part >= kMoved) common.roofs = RoofEvidence::kMovedToo;
}

// Returns the common shift if at least 90 % of at least 10 benchmarks moved in one direction, and
// at least 90 % are within 2 deviations plus `tolerance` [1, logarithm] of their median.
std::optional<CommonShift> FindCommonShift(const std::vector<Movement>& movements,
                                           double tolerance) {
  if (movements.size() < kMinForCommon) return std::nullopt;
  std::vector<double> logs;
  logs.reserve(movements.size());
  for (const auto& movement : movements) logs.push_back(movement.log_ratio);
  std::ranges::sort(logs);
  const std::size_t count = logs.size();
  CommonShift common{.log_ratio = (logs[(count - 1) / 2] + logs[count / 2]) / 2,
                     .middle = {logs[count / 4], logs[count - 1 - count / 4]},
                     .benchmarks = static_cast<int>(count)};
  int near = 0;
  for (const auto& movement : movements) {
    common.same_way += movement.log_ratio * common.log_ratio > 0 ? 1 : 0;
    near += std::abs(movement.log_ratio - common.log_ratio) <= 2 * movement.deviation + tolerance
                ? 1
                : 0;
  }
  const double enough = kNearlyAll * static_cast<double>(count);
  if (common.same_way < enough || near < enough) return std::nullopt;
  AddEvidence(movements, common);
  return common;
}

std::string EvidenceText(const CommonShift& common) {
  switch (common.roofs) {
    case RoofEvidence::kMovedToo:
      return fmt::format(
          "the roofs measured in each run moved by {:.3f} too, so the machine changed",
          std::exp(*common.roof_log_ratio));
    case RoofEvidence::kDidNotMove:
      return fmt::format(
          "the roofs measured in each run did not ({:.3f}), so something that all benchmarks share "
          "changed: build, library or settings",
          std::exp(*common.roof_log_ratio));
    case RoofEvidence::kNone:
      break;
  }
  return "the machine or something that all benchmarks share changed (to tell which, measure the "
         "ceilings for each run: dlroof machine --remeasure)";
}

constexpr KeyRow<Verdict> kVerdicts[] = {{Verdict::kSame, "same"},
                                         {Verdict::kFaster, "faster"},
                                         {Verdict::kSlower, "slower"},
                                         {Verdict::kAmbiguous, "ambiguous"},
                                         {Verdict::kInsufficient, "insufficient"},
                                         {Verdict::kNew, "new"},
                                         {Verdict::kGone, "gone"},
                                         {Verdict::kFailed, "failed"},
                                         {Verdict::kUnsupported, "unsupported"}};
constexpr double kMinEffect = 0.02, kMaxEffect = 0.10;
constexpr double kExcludeAndShow = 1.96 + 1.28;  // standard errors
constexpr double kMaxFalse = 0.01;               // [1] p-value of a settled difference

// The uncertainty of a candidate's log ratio, including the noise between runs.
struct Widened {
  double deviation = 0;  // [1] standard error from the noise within and between runs
  double degrees = 0;    // [1] of freedom (Welch and Satterthwaite)
  std::pair<double, double> ci95;
};

// Adds the noise between runs to a shift. `quantile` is StudentQuantile95(noise.degrees).
Widened Widen(const Shift& shift, const RunNoise& noise, double quantile) {
  const double within = shift.standard_error * shift.standard_error;
  const double between = 2 * noise.deviation * noise.deviation + noise.drift * noise.drift;
  Widened wide{.deviation = std::sqrt(within + between)};
  const double spread = within * within / shift.degrees + between * between / noise.degrees;
  wide.degrees = spread > 0 ? (within + between) * (within + between) / spread : shift.degrees;
  const double reach = quantile * std::sqrt(between);
  const auto end = [&](double inner) { return std::hypot(inner - shift.log_ratio, reach); };
  wide.ci95 = {shift.log_ratio - end(shift.ci95.first), shift.log_ratio + end(shift.ci95.second)};
  return wide;
}

double PValue(double log_ratio, const Widened& wide) {
  if (wide.deviation > 0) return StudentTwoSided(log_ratio / wide.deviation, wide.degrees);
  return log_ratio == 0 ? 1 : 0;
}

void ChooseMinEffect(const JudgeSettings& settings, const std::vector<Widened>& widened,
                     Judged& judged) {
  if (settings.min_effect) {
    judged.min_effect = *settings.min_effect;
    judged.min_effect_from = "as asked for";
    return;
  }
  std::vector<double> deviations;
  deviations.reserve(widened.size());
  for (const auto& wide : widened) deviations.push_back(wide.deviation);
  const double typical =
      deviations.empty() ? kUsualRunNoise * std::sqrt(2) : Median(std::move(deviations));
  judged.min_effect = std::clamp(std::expm1(kExcludeAndShow * typical), kMinEffect, kMaxEffect);
  judged.min_effect_from = fmt::format(
      "from these runs: a typical ratio has a standard error of {:.1f} %", 100 * typical);
}

// The log ratios of a candidate that must all exceed the minimum effect for slower or faster: of
// its seconds, of its seconds without the common shift, and of its seconds / roof time.
struct Views {
  double seconds = 0;
  std::optional<double> without_common, without_roof;
};

Views ViewsOf(const Candidate& candidate, const std::optional<CommonShift>& common) {
  Views views{.seconds = candidate.shift.log_ratio};
  // Without evidence a machine drifts by kMaxDrift at most.
  const bool machine =
      common &&
      (common->roofs == RoofEvidence::kMovedToo ||
       (common->roofs == RoofEvidence::kNone && std::abs(common->log_ratio) <= kMaxDrift));
  if (machine) views.without_common = views.seconds - common->log_ratio;
  if (candidate.roof_log_ratio) views.without_roof = views.seconds - *candidate.roof_log_ratio;
  return views;
}

void Decide(const Views& views, double min_effect, Judgement& judgement) {
  const double bound = std::log1p(min_effect);
  const auto& [low, high] = judgement.ci95;
  const bool excludes = low > 1 || high < 1;
  const bool beyond = std::abs(views.seconds) > bound;
  const bool sure = excludes && judgement.adjusted_p <= kFalseDiscoveryRate;
  const auto agrees = [&](const std::optional<double>& view) {
    return !view || (*view * views.seconds > 0 && std::abs(*view) > bound);
  };
  const char* way = views.seconds > 0 ? "slower" : "faster";
  judgement.verdict = Verdict::kAmbiguous;
  if (beyond && excludes && !agrees(views.without_common)) {
    judgement.moved_with_run = true;
    judgement.reason = fmt::format("{}, but so is nearly everything else in this run", way);
  } else if (beyond && excludes && !agrees(views.without_roof)) {
    judgement.reason = fmt::format(
        "seconds and percent of roof disagree: {} by {:.3f} in seconds, {:.3f} relative to the "
        "roofs "
        "that each run measured",
        way, judgement.ratio, std::exp(*views.without_roof));
  } else if (beyond && sure) {
    judgement.verdict = views.seconds > 0 ? Verdict::kSlower : Verdict::kFaster;
  } else if (std::log(low) >= -bound && std::log(high) <= bound) {
    judgement.verdict = Verdict::kSame;
  } else {
    judgement.reason = IntervalReason(beyond, !excludes, min_effect);
  }
}

std::vector<Movement> Movements(const std::vector<Candidate>& candidates,
                                const std::vector<Widened>& widened) {
  std::vector<Movement> movements;
  movements.reserve(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i)
    movements.push_back(
        {candidates[i].shift.log_ratio, widened[i].deviation, candidates[i].roof_log_ratio});
  return movements;
}

RunNoise NoiseOf(const std::vector<Candidate>& candidates, const JudgeSettings& settings) {
  if (settings.run_noise) return {*settings.run_noise, 1e6, 0, settings.run_noise_from};
  std::vector<Shift> shifts;
  shifts.reserve(candidates.size());
  for (const auto& candidate : candidates) shifts.push_back(candidate.shift);
  return EstimateRunNoise(settings.stored, shifts, settings.usual_noise);
}

}  // namespace

std::string IntervalReason(bool beyond, bool includes_one, double min_effect) {
  const double percent = 100 * min_effect;
  if (includes_one)
    return fmt::format("too uncertain: unchanged, or changed by more than {:.1f} %", percent);
  if (beyond)
    return fmt::format("beyond {:.1f} %, but with this many benchmarks that can be chance",
                       percent);
  return fmt::format("moved, but perhaps by less than {:.1f} %", percent);
}

std::optional<double> DeviationBetweenRuns(const std::vector<Shift>& shifts) {
  if (shifts.size() < kMinShifts) return std::nullopt;
  const double deviation = LeastThatExplains(kMinRunNoise, kMaxRunNoise, Centre(shifts), shifts);
  return deviation < kMaxRunNoise ? deviation : DeviationBothWays(shifts);
}

RunNoise EstimateRunNoise(const std::vector<Shift>& stored, const std::vector<Shift>& compared,
                          double usual) {
  const auto before = DeviationBetweenRuns(stored), here = DeviationBetweenRuns(compared);
  const double drift = here ? std::min(std::abs(Centre(compared)), kMaxNoiseDrift) : 0;
  if (!before && !here)
    return {usual, kMinShifts, drift,
            fmt::format("assumed: fewer than {} benchmarks to estimate it from", kMinShifts)};
  const bool from_stored = before && (!here || *before >= *here);
  const auto& shifts = from_stored ? stored : compared;
  // The deviation is estimated by a median, which is 0.37 times as efficient as a mean of squares:
  // n shifts provide 0.37 n degrees of freedom.
  const double deviation = from_stored ? *before : *here;
  auto from = from_stored ? fmt::format("from {} pairs of stored results", shifts.size())
                          : fmt::format("from the spread of {} benchmarks over these two runs",
                                        shifts.size());
  if (deviation > kMaxRunNoise)
    from +=
        ", which moved in both directions: the machine's state changed; run --ab compares "
        "interleaved";
  return {deviation, 0.37 * static_cast<double>(shifts.size()), drift, std::move(from)};
}

std::string Describe(const CommonShift& common) {
  return fmt::format(
      "{} of {} benchmarks are {} by about the same factor, {:.3f} (half of them {:.3f} "
      "to {:.3f}): {}",
      common.same_way, common.benchmarks, common.log_ratio > 0 ? "slower" : "faster",
      std::exp(common.log_ratio), std::exp(common.middle.first), std::exp(common.middle.second),
      EvidenceText(common));
}

const std::vector<Verdict>& AllVerdicts() {
  static const auto all = ValuesOf(kVerdicts);
  return all;
}

std::string_view Key(Verdict verdict) { return KeyIn(kVerdicts, verdict); }

Judged Judge(const std::vector<Candidate>& candidates, const JudgeSettings& settings) {
  if (IsForStored(candidates, settings)) return JudgeStored(candidates, settings);
  Judged judged{.noise = NoiseOf(candidates, settings)};
  std::vector<Widened> widened;
  widened.reserve(candidates.size());
  const double quantile = StudentQuantile95(judged.noise.degrees);
  for (const auto& candidate : candidates)
    widened.push_back(Widen(candidate.shift, judged.noise, quantile));
  ChooseMinEffect(settings, widened, judged);
  if (settings.look_for_common_shift)
    judged.common = FindCommonShift(Movements(candidates, widened), std::log1p(judged.min_effect));
  if (judged.common)
    judged.common->is_unexplained =
        judged.common->roofs == RoofEvidence::kNone &&
        std::abs(judged.common->log_ratio) > std::log1p(settings.min_effect.value_or(kMinEffect));
  std::vector<double> p_values(candidates.size());
  ParallelFor(candidates.size(), [&](std::size_t i) {
    const Views views = ViewsOf(candidates[i], judged.common);
    p_values[i] = candidates[i].p_value.value_or(PValue(views.seconds, widened[i]));
    if (views.without_common)
      p_values[i] = std::max(p_values[i], PValue(*views.without_common, widened[i]));
  });
  const auto adjusted = AdjustedPValues(p_values);
  judged.each.reserve(candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Judgement judgement{.ratio = std::exp(candidates[i].shift.log_ratio),
                        .ci95 = {std::exp(widened[i].ci95.first), std::exp(widened[i].ci95.second)},
                        .p_value = p_values[i],
                        .adjusted_p = adjusted[i]};
    Decide(ViewsOf(candidates[i], judged.common), judged.min_effect, judgement);
    judged.each.push_back(std::move(judgement));
  }
  return judged;
}

std::optional<PairedShift> MeasureSequentialShift(const std::vector<double>& log_ratios,
                                                  double error) {
  auto paired = MeasurePairedShift(log_ratios, 1 - error / kLooks.size());
  if (paired) paired->p_value = std::min(1.0, kLooks.size() * paired->p_value);
  return paired;
}

BlocksShift MeasureBlocks(const record::Record& base, const record::Record& contender) {
  // The error of a level, whose share was chosen by such errors, is up to a fifth too small:
  // without a change, up to 8 % of simulated pairs are beyond the 95 % interval.
  constexpr double kError = 0.05, kOfRatios = 0.5, kErrorOfLevels = 1.2;
  const auto log_ratios = BlockLogRatios(base, contender);
  BlocksShift blocks{.paired = MeasureSequentialShift(log_ratios, kError),
                     .clean_blocks = log_ratios.size()};
  const auto pair = PairByProcess(base, contender);
  if (!pair || std::min(pair->base.size(), pair->contender.size()) < kMinBlocksOfLevels)
    return blocks;
  const double share = ChooseShare({&*pair});
  Shift shift = ShiftOfProcesses(*pair, share);
  shift.standard_error *= kErrorOfLevels;
  if (!(shift.standard_error > 0) ||
      (blocks.paired && shift.standard_error >= kOfRatios * blocks.paired->shift.standard_error))
    return blocks;
  const auto degrees = static_cast<double>(shift.degrees);
  const boost::math::students_t_distribution<double> student(degrees);
  const double reach =
      quantile(complement(student, kError / kLooks.size() / 2)) * shift.standard_error;
  shift.ci95 = {shift.log_ratio - reach, shift.log_ratio + reach};
  const double p_value =
      kLooks.size() * StudentTwoSided(shift.log_ratio / shift.standard_error, degrees);
  blocks.paired = PairedShift{shift, std::min(1.0, p_value)};
  blocks.fastest_share = share;
  return blocks;
}

bool IsSettled(const PairedShift& paired, const StopRule& rule) {
  const double bound = std::log1p(rule.min_effect);
  const auto& [low, high] = paired.shift.ci95;
  if (low >= -bound && high <= bound) return true;
  const double most = std::min(kMaxFalse, kFalseDiscoveryRate / std::max(1, rule.benchmarks));
  return std::abs(paired.shift.log_ratio) > bound && paired.p_value <= most;
}

}  // namespace dlroof::statistics
