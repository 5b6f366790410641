#include "baselines/statistics/learned_levels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "baselines/statistics/series_profile.h"
#include "counters/base/numbers.h"

namespace dlroof::statistics {
namespace {

constexpr std::size_t kMinForFactor = 4;
constexpr std::size_t kMinForChanges = 10;  // runs, to look for changes among them
constexpr double kOfOneLevel = 3.5;         // [standard errors] BASE and earlier runs agree
constexpr double kDeviationOfMad = 1.4826;
// [deviations] Repetitions farther from their run's median are left out: of normal ones 7 in 10^6.
constexpr double kLeftOut = 4.5;

// Drops the runs before the last change of the level, `values` of them: only those since then
// describe BASE's program. `seconds`: the level of each run.
template <class Value>
void DropBeforeChange(const std::vector<double>& seconds, std::vector<Value>& values) {
  if (values.size() < kMinForChanges) return;
  const auto changes = FindChangePoints(seconds);
  if (!changes.empty() && std::abs(std::log(changes.back().ratio)) > 0.02)
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(changes.back().at));
}

// Runs of BASE's side without their factors, BASE last.
std::vector<std::vector<double>> BaseRuns(const Candidate& candidate,
                                          const std::map<int, double>& factors) {
  std::vector<std::vector<double>> runs;
  for (const auto& earlier : candidate.earlier) {
    if (earlier.logs.size() < kMinClean) continue;
    const auto factor = factors.find(earlier.run);
    auto& logs = runs.emplace_back(earlier.logs);
    for (double& one : logs) one -= factor == factors.end() ? 0 : factor->second;
  }
  std::vector<double> medians;
  medians.reserve(runs.size());
  for (const auto& run : runs) medians.push_back(std::exp(Median(run)));
  DropBeforeChange(medians, runs);
  runs.push_back(candidate.base_logs);
  return runs;
}

// Returns the distance from a run's median beyond which a repetition is left out, from all runs.
double LimitOf(const std::vector<std::vector<double>>& runs) {
  std::vector<double> distances;
  for (const auto& run : runs) {
    const double median = Median(run);
    for (const double one : run) distances.push_back(std::abs(one - median));
  }
  return kLeftOut * kDeviationOfMad * Median(std::move(distances)) + 1e-12;
}

// Sums squares within runs, and collects the level of each run.
class WithinRuns {
 public:
  explicit WithinRuns(double limit) : limit_(limit) {}

  void Add(const std::vector<double>& logs) {
    const double median = Median(logs);
    // A run at two speeds has a median of neither: then all count.
    const auto near =
        std::ranges::count_if(logs, [&](double one) { return std::abs(one - median) <= limit_; });
    const double limit = 2 * near > std::ssize(logs) ? limit_ : HUGE_VAL;
    RunLevel level;
    for (const double one : logs) {
      if (std::abs(one - median) > limit) continue;
      level.log_seconds += one;
      ++level.repetitions;
    }
    level.log_seconds /= level.repetitions;
    degrees_ += level.repetitions - 1;
    std::optional<double> before;
    for (const double one : logs) {
      std::optional<double> residual;
      if (std::abs(one - median) <= limit) residual = one - level.log_seconds;
      if (residual) squares_ += *residual * *residual;
      if (before && residual) products_ += *before * *residual;
      values_ += residual ? 1 : 0;
      before = residual;
    }
    levels.push_back(level);
  }
  Spread Pooled() const { return {degrees_ > 0 ? squares_ / degrees_ : 0, degrees_}; }

  // Returns the correlation of repetitions that follow each other, without the bias of a sample
  // (Marriott and Pope, Biometrika 41 (1954) 390).
  double Memory() const {
    if (!(squares_ > 0)) return 0;
    const double own = products_ / squares_;
    return own + (1 + 3 * own) * static_cast<double>(levels.size()) / values_;
  }

  std::vector<RunLevel> levels;

 private:
  double limit_;
  double squares_ = 0, degrees_ = 0;
  double products_ = 0, values_ = 0;
};

double MeanOf(const std::vector<RunLevel>& levels) {
  double sum = 0, count = 0;
  for (const auto& level : levels) {
    sum += level.repetitions * level.log_seconds;
    count += level.repetitions;
  }
  return count > 0 ? sum / count : 0;
}

// Drops the earlier runs (all but the last level) if BASE does not agree with them.
void KeepAgreeing(double variance, std::vector<RunLevel>& levels) {
  if (levels.size() < 2) return;
  const RunLevel base = levels.back();
  levels.pop_back();
  const double mean = MeanOf(levels);
  double between = 0;
  for (const auto& level : levels)
    between += (level.log_seconds - mean) * (level.log_seconds - mean);
  const auto count = static_cast<double>(levels.size());
  between = levels.size() > 1 ? between / (count - 1) : 0;
  const double error = std::sqrt(variance / base.repetitions * (1 + 1 / count) + between);
  if (std::abs(base.log_seconds - mean) > kOfOneLevel * error) levels.clear();
  levels.push_back(base);
}

Spread Pooled(const Spread& one, const Spread& other) {
  const double degrees = one.degrees + other.degrees;
  if (!(degrees > 0)) return {0, degrees};
  return {(one.variance * one.degrees + other.variance * other.degrees) / degrees, degrees};
}

// Levels of runs in several processes; a process takes the place of a repetition.
Levels LevelsOfProcesses(const Candidate& candidate, const std::map<int, double>& factors,
                         double share) {
  std::vector<std::pair<RunLevel, Spread>> runs;
  const auto level_of = [&](const ProcessLogs& processes, double factor) {
    return std::pair(
        RunLevel{FastestLevel(processes, share) - factor, static_cast<double>(processes.size())},
        SpreadOfProcesses(processes, share));
  };
  for (const auto& earlier : candidate.earlier) {
    if (earlier.processes.empty()) continue;
    const auto factor = factors.find(earlier.run);
    runs.push_back(level_of(earlier.processes, factor == factors.end() ? 0 : factor->second));
  }
  std::vector<double> seconds;
  seconds.reserve(runs.size());
  for (const auto& [level, spread] : runs) seconds.push_back(std::exp(level.log_seconds));
  DropBeforeChange(seconds, runs);
  runs.push_back(level_of(candidate.processes.base, 0));
  const auto contender = level_of(candidate.processes.contender, 0);
  Levels levels{.repetition = contender.second};
  for (const auto& [level, spread] : runs) {
    levels.repetition = Pooled(levels.repetition, spread);
    levels.base.push_back(level);
  }
  KeepAgreeing(levels.repetition.variance, levels.base);
  levels.earlier_runs = static_cast<int>(levels.base.size()) - 1;
  levels.log_ratio = contender.first.log_seconds - MeanOf(levels.base);
  levels.contender_count = contender.first.repetitions;
  return levels;
}

}  // namespace

double Levels::Variance(double repetition_variance, double between) const {
  if (within > 0 || base.empty()) return within + 2 * between;
  double precision = 0;
  for (const auto& level : base)
    precision += 1 / std::max(between + repetition_variance / level.repetitions, 1e-18);
  return 1 / precision + between + repetition_variance / contender_count;
}

Spread Levels::Between(double repetition_variance) const {
  if (base.size() < 2) return {};
  const double mean = MeanOf(base);
  const auto count = static_cast<double>(base.size());
  double squares = 0, expected = 0;
  for (const auto& level : base) {
    squares += (level.log_seconds - mean) * (level.log_seconds - mean);
    expected += repetition_variance / level.repetitions;
  }
  return {squares / (count - 1) - expected / count, count - 1};
}

std::map<int, double> FactorsOfRuns(const std::vector<Candidate>& candidates, int device,
                                    double fastest_share) {
  std::map<int, std::vector<Estimate>> ratios;
  for (const auto& candidate : candidates) {
    if (candidate.device != device ||
        (candidate.base_logs.empty() && candidate.processes.base.empty()))
      continue;
    const bool by_processes = !candidate.processes.base.empty();
    const double base = by_processes ? FastestLevel(candidate.processes.base, fastest_share)
                                     : Median(candidate.base_logs);
    for (const auto& earlier : candidate.earlier) {
      if (by_processes ? earlier.processes.empty() : earlier.logs.size() < kMinClean) continue;
      // The distances within the candidate's own shift are as large as those to other runs.
      const double error = std::max(candidate.shift.standard_error, 1e-3);
      const double own =
          by_processes ? FastestLevel(earlier.processes, fastest_share) : Median(earlier.logs);
      ratios[earlier.run].push_back({own - base, error * error});
    }
  }
  std::map<int, double> factors;
  for (const auto& [run, values] : ratios) {
    if (values.size() < kMinForFactor) continue;
    factors[run] = BiweightLocation(values, 0)->value;
  }
  return factors;
}

Levels LevelsOf(const Candidate& candidate, const std::map<int, double>& factors,
                double fastest_share) {
  if (!candidate.processes.base.empty())
    return LevelsOfProcesses(candidate, factors, fastest_share);
  Levels levels;
  if (candidate.base_logs.empty() || candidate.contender_logs.empty()) {
    levels.log_ratio = candidate.shift.log_ratio;
    levels.within = candidate.shift.standard_error * candidate.shift.standard_error;
    levels.repetition = {0, static_cast<double>(candidate.shift.degrees)};
    return levels;
  }
  auto runs = BaseRuns(candidate, factors);
  runs.push_back(candidate.contender_logs);
  WithinRuns within(LimitOf(runs));
  for (const auto& run : runs) within.Add(run);
  levels.repetition = within.Pooled();
  levels.memory = within.Memory();
  levels.base = std::move(within.levels);
  const RunLevel contender = levels.base.back();
  levels.base.pop_back();
  KeepAgreeing(levels.repetition.variance, levels.base);
  levels.earlier_runs = static_cast<int>(levels.base.size()) - 1;
  levels.log_ratio = contender.log_seconds - MeanOf(levels.base);
  levels.contender_count = contender.repetitions;
  return levels;
}

}  // namespace dlroof::statistics
