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

constexpr std::size_t kLeastForFactor = 4;
constexpr std::size_t kLeastForChanges = 10;  // runs, to look for changes among them
constexpr double kOfOneLevel = 3.5;           // [standard errors] BASE and earlier runs agree

const Mode& NearestOf(const Modes& modes, double log_seconds) {
  return *std::ranges::min_element(
      modes.modes, {}, [&](const Mode& one) { return std::abs(log_seconds - one.log_seconds); });
}

// Drops the runs before the last change of the level, `values` of them: only those since then
// describe BASE's program. `seconds`: the level of each run.
template <class Value>
void DropBeforeChange(const std::vector<double>& seconds, std::vector<Value>& values) {
  if (values.size() < kLeastForChanges) return;
  const auto changes = FindChangePoints(seconds);
  if (!changes.empty() && std::abs(std::log(changes.back().ratio)) > 0.02)
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(changes.back().at));
}

// Runs of BASE's side without their factors, BASE last.
std::vector<std::vector<double>> BaseRuns(const Candidate& candidate,
                                          const std::map<int, double>& factors) {
  std::vector<std::vector<double>> runs;
  for (const auto& earlier : candidate.earlier) {
    if (earlier.logs.size() < kLeastClean) continue;
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

// Sums squares within runs and modes, and collects the level of each run in each of its modes.
class WithinRuns {
 public:
  void Add(const std::vector<double>& logs, const Modes& modes, double deviation) {
    std::map<const Mode*, std::vector<double>> by_mode;
    for (const double one : logs) {
      const Mode& mode = NearestOf(modes, one);
      if (std::abs(one - mode.log_seconds) <= deviation) by_mode[&mode].push_back(one);
    }
    RunLevel level;
    std::map<const Mode*, double> means;
    for (const auto& [mode, values] : by_mode) {
      double mean = 0;
      for (const double one : values) mean += one;
      const auto count = static_cast<double>(values.size());
      mean /= count;
      means[mode] = mean;
      for (const double one : values) squares_ += (one - mean) * (one - mean);
      degrees_ += count - 1;
      level.log_seconds += count * (mean - mode->log_seconds);
      level.repetitions += count;
    }
    AddProducts(logs, modes, deviation, means);
    if (level.repetitions <= 0) return;
    level.log_seconds /= level.repetitions;
    levels.push_back(level);
  }
  Spread Pooled() const { return {degrees_ > 0 ? squares_ / degrees_ : 0, degrees_}; }

  // Returns the correlation of repetitions that follow each other, over these and those of `other`,
  // without the bias of a sample (Marriott and Pope, Biometrika 41 (1954) 390).
  double Memory(const WithinRuns& other) const {
    const double squares = squares_ + other.squares_, values = values_ + other.values_;
    if (!(squares > 0)) return 0;
    const double own = (products_ + other.products_) / squares;
    return own + (1 + 3 * own) * (runs_ + other.runs_) / values;
  }

  std::vector<RunLevel> levels;

 private:
  void AddProducts(const std::vector<double>& logs, const Modes& modes, double deviation,
                   const std::map<const Mode*, double>& means) {
    std::optional<double> before;
    for (const double one : logs) {
      const Mode& mode = NearestOf(modes, one);
      std::optional<double> residual;
      if (std::abs(one - mode.log_seconds) <= deviation) residual = one - means.at(&mode);
      if (before && residual) products_ += *before * *residual;
      values_ += residual ? 1 : 0;
      before = residual;
    }
    ++runs_;
  }

  double squares_ = 0, degrees_ = 0;
  double products_ = 0, values_ = 0, runs_ = 0;
};

// Returns the largest distance of a value from its mode that ModesOf kept.
double ReachOf(const Modes& modes) {
  double reach = 0;
  for (const auto& mode : modes.modes)
    for (const double one : mode.logs) reach = std::max(reach, std::abs(one - mode.log_seconds));
  return reach * (1 + 1e-12) + 1e-12;
}

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

// Returns the modes of BASE's and NEW's times, of each as many.
std::pair<Modes, Modes> ModesOfBoth(const std::vector<double>& base_logs,
                                    const std::vector<double>& contender_logs, double common) {
  Modes base = ModesOf(base_logs), contender = ModesOf(contender_logs);
  if (base.modes.size() > contender.modes.size())
    contender = ModesLike(base, contender_logs);
  else if (contender.modes.size() > base.modes.size())
    base = ModesLike(contender, base_logs);
  if (base.modes.size() + contender.modes.size() < 4)
    if (auto both = ModesTogether(base_logs, contender_logs, common)) return *std::move(both);
  return {std::move(base), std::move(contender)};
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
      if (by_processes ? earlier.processes.empty() : earlier.logs.size() < kLeastClean) continue;
      // The distances within the candidate's own shift are as large as those to other runs.
      const double error = std::max(candidate.shift.standard_error, 1e-3);
      const double own =
          by_processes ? FastestLevel(earlier.processes, fastest_share) : Median(earlier.logs);
      ratios[earlier.run].push_back({own - base, error * error});
    }
  }
  std::map<int, double> factors;
  for (const auto& [run, values] : ratios) {
    if (values.size() < kLeastForFactor) continue;
    factors[run] = BiweightLocation(values, 0)->value;
  }
  return factors;
}

Levels LevelsOf(const Candidate& candidate, const std::map<int, double>& factors, double common,
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
  const auto runs = BaseRuns(candidate, factors);
  std::vector<double> pooled;
  for (const auto& run : runs) pooled.insert(pooled.end(), run.begin(), run.end());
  auto [base, contender] = ModesOfBoth(pooled, candidate.contender_logs, common);
  WithinRuns within;
  for (const auto& run : runs) within.Add(run, base, ReachOf(base));
  WithinRuns of_contender;
  of_contender.Add(candidate.contender_logs, contender, ReachOf(contender));
  levels.repetition = Pooled(within.Pooled(), of_contender.Pooled());
  levels.memory = within.Memory(of_contender);
  levels.base = std::move(within.levels);
  KeepAgreeing(levels.repetition.variance, levels.base);
  levels.earlier_runs = static_cast<int>(levels.base.size()) - 1;
  // BASE's level relative to the modes of all runs.
  const double shift = MeanOf(levels.base);
  for (auto& mode : base.modes) mode.log_seconds += shift;
  const auto matched = MatchModes(base, contender, common, std::sqrt(levels.repetition.variance));
  levels.log_ratio = matched.log_ratio;
  levels.contender_count = matched.contender_count;
  levels.by_mode = matched.by_mode;
  levels.ambiguous = matched.ambiguous;
  levels.more_at_slower = matched.more_at_slower;
  // The levels of a run count with the repetitions of the modes that were matched.
  double count = 0;
  for (const auto& level : levels.base) count += level.repetitions;
  for (auto& level : levels.base) level.repetitions *= std::min(1.0, matched.base_count / count);
  return levels;
}

}  // namespace dlroof::statistics
