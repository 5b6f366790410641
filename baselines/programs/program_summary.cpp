#include "baselines/programs/program_summary.h"

#include <algorithm>
#include <cmath>

#include "baselines/programs/steps.h"
#include "counters/base/numbers.h"

namespace dlroof::programs {
namespace {

// Returns the `share` quantile of sorted values: the value with the nearest rank.
double Quantile(const std::vector<double>& rising, double share) {
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(rising.size() - 1) + 0.5);
  return rising[rank];
}

std::vector<ProgramPrimitive> PrimitivesOf(const logs::VerboseLog& log,
                                           const std::vector<double>& call_seconds) {
  std::vector<std::vector<double>> seconds(log.primitives.size());
  for (std::size_t i = 0; i < log.executions.size(); ++i)
    seconds[log.executions[i].primitive].push_back(call_seconds[i]);
  std::vector<ProgramPrimitive> primitives;
  for (std::size_t i = 0; i < log.primitives.size(); ++i) {
    ProgramPrimitive primitive{.text = log.primitives[i]};
    primitive.calls = static_cast<double>(seconds[i].size());
    for (const double one : seconds[i]) primitive.seconds += one;
    primitive.times = TimesOf(std::move(seconds[i]));
    const auto work = logs::WorkOf(logs::ReadPrimitive(primitive.text));
    primitive.moves_data = logs::HasNoFlops(work);
    primitive.work_unknown = work.reason;
    primitives.push_back(std::move(primitive));
  }
  return primitives;
}

// [1] A first step whose wall time is this many times the median is part of the warm-up.
constexpr double kWarmUp = 1.5;
// A later step is an outlier if its wall time differs from the median by this many standard
// deviations (estimated by the median distance from the median) and by this share of the median.
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

// Removes the first steps that belong to the warm-up, but leaves at least two steps. Returns their
// number.
int LeaveOutWarmUp(std::vector<StepRange>& ranges) {
  const auto walls = WallsOf(ranges);
  if (walls.size() < 3) return 0;
  const double most = kWarmUp * Median(walls);
  std::size_t slow = 0;
  while (slow + 2 < ranges.size() && WallOf(ranges[slow]) > most) ++slow;
  ranges.erase(ranges.begin(), ranges.begin() + static_cast<std::ptrdiff_t>(slow));
  return static_cast<int>(slow);
}

// Returns the steps over which means are computed: those with wall times but outliers, or all if
// none has a wall time. Counts the outliers.
std::vector<StepRange> AveragedSteps(const Steps& steps, int& outliers) {
  constexpr double kNormal = 1.4826;  // [1] standard deviation / median distance from the median
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

void AddWallTimes(const std::vector<StepRange>& averaged, ProgramSteps& steps) {
  auto walls = WallsOf(averaged);
  if (walls.empty()) return;
  steps.timed = static_cast<int>(walls.size());
  double sum = 0;
  for (const double wall : walls) sum += wall;
  steps.wall_seconds = sum / static_cast<double>(walls.size());
  std::ranges::sort(walls);
  steps.least_wall_seconds = walls.front();
  steps.median_wall_seconds = MedianOfSorted(walls);
  steps.most_wall_seconds = walls.back();
  if (const auto interval = MedianInterval95OfSorted(walls)) {
    steps.median_low_seconds = interval->first;
    steps.median_high_seconds = interval->second;
  }
}

bool IsMain(const logs::VerboseLog& log, std::size_t execution) {
  return log.executions[execution].process == log.main_process;
}

// Begins of a step's phases: `backward` is the first backward call, `update` follows the last.
struct PhaseBounds {
  std::size_t begin, backward, update, end;
};

std::optional<PhaseBounds> BoundsOf(const logs::VerboseLog& log, const StepRange& range) {
  PhaseBounds bounds{range.begin, range.end, range.end, range.end};
  bool found = false;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const auto& text = log.primitives[log.executions[i].primitive];
    if (!IsMain(log, i) || !text.prop.starts_with("backward")) continue;
    if (!found) bounds.backward = i;
    found = true;
    bounds.update = i + 1;
  }
  if (!found) return std::nullopt;
  return bounds;
}

std::optional<double> StartOf(const logs::VerboseLog& log, std::size_t i, const StepRange& range) {
  if (i == range.begin) return range.begin_seconds;
  if (i >= range.end) return range.end_seconds;
  return log.executions[i].start_seconds;
}

void AddPhase(const logs::VerboseLog& log, const Timeline& timeline, const StepRange& range,
              std::size_t begin, std::size_t end, double weight, ProgramPhase& phase) {
  for (std::size_t i = begin; i < end; ++i) {
    if (!IsMain(log, i)) continue;
    phase.calls += weight;
    phase.seconds += weight * timeline.executions[i];
  }
  const auto from = StartOf(log, begin, range);
  const auto to = StartOf(log, end, range);
  if (!from || !to)
    phase.wall_seconds.reset();
  else if (phase.wall_seconds)
    *phase.wall_seconds += weight * (*to - *from);
}

std::vector<ProgramPhase> PhasesOf(const logs::VerboseLog& log, const Timeline& timeline,
                                   const std::vector<StepRange>& averaged) {
  std::vector<ProgramPhase> phases = {{.name = "forward", .wall_seconds = 0},
                                      {.name = "backward", .wall_seconds = 0},
                                      {.name = "update", .wall_seconds = 0}};
  const double weight = 1 / static_cast<double>(std::max<std::size_t>(averaged.size(), 1));
  for (const auto& range : averaged) {
    const auto bounds = BoundsOf(log, range);
    if (!bounds) return {};
    AddPhase(log, timeline, range, bounds->begin, bounds->backward, weight, phases[0]);
    AddPhase(log, timeline, range, bounds->backward, bounds->update, weight, phases[1]);
    AddPhase(log, timeline, range, bounds->update, bounds->end, weight, phases[2]);
  }
  return averaged.empty() ? std::vector<ProgramPhase>() : phases;
}

// Sets each primitive's mean calls and time per step, and the mean creations per step.
void AddStepMeans(const logs::VerboseLog& log, const Timeline& timeline,
                  const std::vector<StepRange>& averaged, ProgramSummary& summary) {
  const double weight = 1 / static_cast<double>(std::max<std::size_t>(averaged.size(), 1));
  auto& steps = summary.steps;
  for (const auto& range : averaged) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      if (!IsMain(log, i)) continue;
      steps.primitives += weight;
      auto& primitive = summary.primitives[log.executions[i].primitive];
      primitive.step_calls += weight;
      primitive.step_seconds += weight * timeline.executions[i];
    }
    for (std::size_t i = 0; i < log.creations.size(); ++i) {
      const auto& creation = log.creations[i];
      if (creation.before < range.begin || creation.before >= range.end ||
          creation.process != log.main_process)
        continue;
      steps.creation_seconds += weight * timeline.creations[i];
      (creation.hit ? steps.creation_hits : steps.creation_misses) += weight;
    }
  }
}

void AddSteps(const logs::VerboseLog& log, const Timeline& timeline, Steps found,
              ProgramSummary& summary) {
  auto& steps = summary.steps;
  steps.warm_up_steps = LeaveOutWarmUp(found.ranges);
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
  AddWallTimes(averaged, steps);
  AddStepMeans(log, timeline, averaged, summary);
  steps.phases = PhasesOf(log, timeline, averaged);
}

std::vector<ProgramProcess> ProcessesOf(const logs::VerboseLog& log,
                                        const std::vector<double>& call_seconds) {
  std::vector<ProgramProcess> processes(log.processes.size());
  const auto threads = ThreadsOf(log);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    processes[i].id = log.processes[i].id;
    processes[i].main = i == log.main_process;
  }
  for (std::size_t i = 0; i < log.executions.size(); ++i) {
    const auto& execution = log.executions[i];
    auto& process = processes[execution.process];
    ++process.calls;
    process.seconds += call_seconds[i];
    if (execution.start_seconds)
      process.threads = std::max(process.threads, static_cast<int>(threads[i]) + 1);
  }
  std::erase_if(processes, [](const ProgramProcess& one) { return one.calls == 0; });
  return processes;
}

}  // namespace

CallTimes TimesOf(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return {seconds.front(), Quantile(seconds, 0.25), MedianOfSorted(seconds),
          Quantile(seconds, 0.75), seconds.back()};
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

}  // namespace dlroof::programs
