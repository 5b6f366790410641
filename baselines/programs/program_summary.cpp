#include "baselines/programs/program_summary.h"

#include <cmath>
#include <numeric>

#include "counters/base/numbers.h"

namespace dlroof::programs {
namespace {

std::vector<ProgramPrimitive> PrimitivesOf(const logs::VerboseLog& log,
                                           const std::vector<double>& call_seconds) {
  std::vector<ProgramPrimitive> primitives;
  for (const auto& text : log.primitives) primitives.push_back({.text = text});
  for (std::size_t i = 0; i < log.executions.size(); ++i) {
    auto& primitive = primitives[log.executions[i].primitive];
    ++primitive.calls;
    primitive.seconds += call_seconds[i];
  }
  for (auto& primitive : primitives) {
    const auto work = logs::WorkOf(logs::ReadPrimitive(primitive.text));
    primitive.moves_data = logs::HasNoFlops(work);
    primitive.work_unknown = work.reason;
  }
  return primitives;
}

// A step after the warm-up is an outlier if its wall time differs from the median by this many
// standard deviations (estimated by the median absolute deviation) and by this share of the median.
constexpr double kOutlier = 3.5, kOutlierShare = 0.25;

double WallOf(const StepRange& range) {
  return range.begin_seconds && range.end_seconds ? *range.end_seconds - *range.begin_seconds : 0;
}

std::vector<double> WallsOf(const std::vector<StepRange>& ranges) {
  std::vector<double> walls;
  for (const auto& range : ranges)
    if (WallOf(range) > 0) walls.push_back(WallOf(range));
  return walls;
}

// Returns the steps over which means are computed: those with wall times except outliers, or all if
// none has a wall time. Counts the outliers.
std::vector<StepRange> AveragedSteps(const Steps& steps, int& outliers) {
  constexpr double kNormal = 1.4826;  // [1] standard deviation / median absolute deviation
  const auto walls = WallsOf(steps.ranges);
  if (walls.empty()) return steps.ranges;
  const double median = Median(walls);
  std::vector<double> distances;
  for (const double wall : walls) distances.push_back(std::abs(wall - median));
  const double most = std::max(kOutlier * kNormal * Median(distances), kOutlierShare * median);
  std::vector<StepRange> timed;
  for (const auto& range : steps.ranges) {
    if (!(WallOf(range) > 0)) continue;
    if (walls.size() >= 3 && std::abs(WallOf(range) - median) > most)
      ++outliers;
    else
      timed.push_back(range);
  }
  return timed;
}

bool IsMain(const logs::VerboseLog& log, std::size_t execution) {
  return log.executions[execution].process == log.main_process;
}

void AddSteps(const logs::VerboseLog& log, const Timeline& timeline, Steps found,
              ProgramSummary& summary) {
  auto& steps = summary.steps;
  std::vector<double> walls;
  for (const auto& range : found.ranges) walls.push_back(WallOf(range));
  const auto slow = WarmUpSteps(walls);
  steps.warm_up_steps = static_cast<int>(slow);
  found.ranges.erase(found.ranges.begin(),
                     found.ranges.begin() + static_cast<std::ptrdiff_t>(slow));
  steps.from = found.from;
  steps.reason = found.reason;
  steps.count = static_cast<int>(found.ranges.size());
  if (found.ranges.empty()) return;
  const auto first = found.ranges.front().begin;
  for (std::size_t i = 0; i < first; ++i) {
    if (!IsMain(log, i)) continue;
    ++steps.warm_up_calls;
    steps.warm_up_seconds += log.executions[i].seconds;
  }
  const auto averaged = AveragedSteps(found, steps.outliers);
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const auto& range : averaged) places.emplace_back(range.begin, range.end);
  walls = WallsOf(averaged);
  SetStepMeans(
      log, timeline, walls, averaged.size(),
      [&](const auto&, std::size_t place) { return RangeWith(places, place).has_value(); },
      summary);
  if (const auto interval = MedianInterval95(walls)) {
    steps.median_low_seconds = interval->first;
    steps.median_high_seconds = interval->second;
  }
}

std::vector<ProgramProcess> ProcessesOf(const logs::VerboseLog& log,
                                        const std::vector<double>& call_seconds) {
  std::vector<ProgramProcess> processes(log.processes.size());
  for (std::size_t i = 0; i < processes.size(); ++i) {
    processes[i].id = log.processes[i].id;
    processes[i].main = i == log.main_process;
  }
  for (std::size_t i = 0; i < log.executions.size(); ++i) {
    const auto& execution = log.executions[i];
    auto& process = processes[execution.process];
    ++process.calls;
    process.seconds += call_seconds[i];
  }
  std::erase_if(processes, [](const ProgramProcess& process) { return process.calls == 0; });
  return processes;
}

}  // namespace

std::size_t WarmUpSteps(const std::vector<double>& walls) {
  constexpr double kSlow = 1.5;  // [1] ratio of a warm-up step's time to the median
  std::vector<double> known;
  std::ranges::copy_if(walls, std::back_inserter(known), [](double wall) { return wall > 0; });
  if (known.size() < 3) return 0;
  const double most = kSlow * Median(known);
  std::size_t slow = 0;
  while (slow + 2 < walls.size() && walls[slow] > most) ++slow;
  return slow;
}

void SetStepMeans(const logs::VerboseLog& log, const Timeline& timeline, std::vector<double> walls,
                  std::size_t count, const InStep& in_step, ProgramSummary& summary) {
  auto& steps = summary.steps;
  steps.timed = static_cast<int>(walls.size());
  if (!walls.empty()) {
    steps.wall_seconds =
        std::accumulate(walls.begin(), walls.end(), 0.0) / static_cast<double>(walls.size());
    std::ranges::sort(walls);
    steps.least_wall_seconds = walls.front();
    steps.median_wall_seconds = MedianOfSorted(walls);
    steps.most_wall_seconds = walls.back();
  }
  const double weight = 1 / static_cast<double>(std::max<std::size_t>(count, 1));
  const auto counts = [&](const auto& call, std::size_t place) {
    return call.process == log.main_process && in_step(call.start_seconds, place);
  };
  for (std::size_t i = 0; i < log.executions.size(); ++i) {
    if (!counts(log.executions[i], i)) continue;
    auto& primitive = summary.primitives.at(log.executions[i].primitive);
    steps.primitives += weight;
    primitive.step_calls += weight;
    primitive.step_seconds += weight * timeline.executions[i];
  }
  for (std::size_t i = 0; i < log.creations.size(); ++i) {
    const auto& creation = log.creations[i];
    if (!counts(creation, creation.before)) continue;
    steps.creation_seconds += weight * timeline.creations[i];
    (creation.hit ? steps.creation_hits : steps.creation_misses) += weight;
  }
}

ProgramSummary SummarizeProgram(const logs::VerboseLog& log, const Steps& steps) {
  ProgramSummary summary{.version = log.version,
                         .runtime = log.runtime,
                         .isa_words = log.isa_words,
                         .threads = log.threads,
                         .lines = log.lines};
  const auto timeline = TimelineOf(log);
  const auto call_seconds = CallSeconds(log, timeline);
  summary.primitives = PrimitivesOf(log, call_seconds);
  summary.processes = ProcessesOf(log, call_seconds);
  double covered = 0;
  for (std::size_t i = 0; i < log.executions.size(); ++i) {
    summary.seconds += call_seconds[i];
    if (IsMain(log, i)) covered += timeline.executions[i];
  }
  if (timeline.stamped) summary.covered_seconds = covered;
  for (const auto& creation : log.creations) {
    (creation.hit ? summary.creation_hits : summary.creation_misses) += 1;
    summary.creation_seconds += creation.seconds;
  }
  AddSteps(log, timeline, steps, summary);
  return summary;
}

bool IsCompiled(const TracedProgram& traced) {
  return std::ranges::any_of(traced.modules, [](const auto& module) {
    return module.path.starts_with("OptimizedModule");
  });
}

}  // namespace dlroof::programs
