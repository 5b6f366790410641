#include "reporters/program/program_summary.h"

#include <algorithm>

#include "counters/base/order_statistics.h"
#include "reporters/program/steps.h"

namespace dlroof::programs {
namespace {

// Nearest rank.
double Quantile(const std::vector<double>& rising, double share) {
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(rising.size() - 1) + 0.5);
  return rising[rank];
}

CallTimes TimesOf(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return {seconds.front(), Quantile(seconds, 0.25), MedianOfSorted(seconds),
          Quantile(seconds, 0.75), seconds.back()};
}

std::vector<ProgramPrimitive> PrimitivesOf(const verbose::VerboseLog& log) {
  std::vector<std::vector<double>> seconds(log.primitives.size());
  for (const auto& execution : log.executions)
    seconds[execution.primitive].push_back(execution.seconds);
  std::vector<ProgramPrimitive> primitives;
  for (std::size_t i = 0; i < log.primitives.size(); ++i) {
    ProgramPrimitive primitive{.text = log.primitives[i]};
    primitive.calls = static_cast<double>(seconds[i].size());
    for (const double one : seconds[i]) primitive.seconds += one;
    primitive.times = TimesOf(std::move(seconds[i]));
    const auto work = verbose::WorkOf(verbose::ReadPrimitive(primitive.text));
    primitive.moves = verbose::HasNoFlops(work);
    primitive.no_work = work.reason;
    primitives.push_back(std::move(primitive));
  }
  return primitives;
}

// [1] A first step that takes so many times the median's wall time belongs to the warm-up.
constexpr double kWarmUp = 1.5;

// Leaves out slow first steps, as long as two remain.
void LeaveOutWarmUp(std::vector<StepRange>& ranges) {
  const auto wall = [](const StepRange& range) {
    return range.begin_seconds && range.end_seconds ? *range.end_seconds - *range.begin_seconds : 0;
  };
  std::vector<double> walls;
  for (const auto& range : ranges)
    if (wall(range) > 0) walls.push_back(wall(range));
  if (walls.size() < 3) return;
  const double most = kWarmUp * Median(walls);
  std::size_t slow = 0;
  while (slow + 2 < ranges.size() && wall(ranges[slow]) > most) ++slow;
  ranges.erase(ranges.begin(), ranges.begin() + static_cast<std::ptrdiff_t>(slow));
}

// Steps over which the means are taken: those that the clock tells, else all.
std::vector<StepRange> AveragedSteps(const Steps& steps) {
  std::vector<StepRange> timed;
  for (const auto& range : steps.ranges)
    if (range.begin_seconds && range.end_seconds) timed.push_back(range);
  return timed.empty() ? steps.ranges : timed;
}

void AddWallTimes(const std::vector<StepRange>& averaged, ProgramSteps& steps) {
  std::vector<double> walls;
  for (const auto& range : averaged)
    if (range.begin_seconds && range.end_seconds)
      walls.push_back(*range.end_seconds - *range.begin_seconds);
  if (walls.empty()) return;
  steps.timed = static_cast<int>(walls.size());
  double sum = 0;
  for (const double wall : walls) sum += wall;
  steps.wall_seconds = sum / static_cast<double>(walls.size());
  std::ranges::sort(walls);
  steps.least_wall_seconds = walls.front();
  steps.median_wall_seconds = MedianOfSorted(walls);
  steps.most_wall_seconds = walls.back();
}

// Begins and ends of a step's phases: its first backward call, and the one behind its last.
struct PhaseBounds {
  std::size_t begin, backward, update, end;
};

std::optional<PhaseBounds> BoundsOf(const verbose::VerboseLog& log, const StepRange& range) {
  PhaseBounds bounds{range.begin, range.end, range.end, range.end};
  bool found = false;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (!log.primitives[log.executions[i].primitive].prop.starts_with("backward")) continue;
    if (!found) bounds.backward = i;
    found = true;
    bounds.update = i + 1;
  }
  if (!found) return std::nullopt;
  return bounds;
}

std::optional<double> StartOf(const verbose::VerboseLog& log, std::size_t i, const StepRange& range) {
  if (i == range.begin) return range.begin_seconds;
  if (i >= range.end) return range.end_seconds;
  return log.executions[i].start_seconds;
}

void AddPhase(const verbose::VerboseLog& log, const Timeline& timeline, const StepRange& range,
              std::size_t begin, std::size_t end, double weight, ProgramPhase& phase) {
  phase.calls += weight * static_cast<double>(end - begin);
  for (std::size_t i = begin; i < end; ++i) phase.seconds += weight * timeline.executions[i];
  const auto from = StartOf(log, begin, range);
  const auto to = StartOf(log, end, range);
  if (!from || !to)
    phase.wall_seconds.reset();
  else if (phase.wall_seconds)
    *phase.wall_seconds += weight * (*to - *from);
}

std::vector<ProgramPhase> PhasesOf(const verbose::VerboseLog& log, const Timeline& timeline,
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

// Adds to each primitive what it takes of a step, and to the step its creations.
void AddStepMeans(const verbose::VerboseLog& log, const Timeline& timeline,
                  const std::vector<StepRange>& averaged, ProgramSummary& summary) {
  const double weight = 1 / static_cast<double>(std::max<std::size_t>(averaged.size(), 1));
  auto& steps = summary.steps;
  for (const auto& range : averaged) {
    steps.primitives += weight * static_cast<double>(range.end - range.begin);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      auto& primitive = summary.primitives[log.executions[i].primitive];
      primitive.step_calls += weight;
      primitive.step_seconds += weight * timeline.executions[i];
    }
    for (std::size_t i = 0; i < log.creations.size(); ++i) {
      const auto& creation = log.creations[i];
      if (creation.before < range.begin || creation.before >= range.end) continue;
      steps.creation_seconds += weight * timeline.creations[i];
      (creation.hit ? steps.creation_hits : steps.creation_misses) += weight;
    }
  }
}

void AddSteps(const verbose::VerboseLog& log, const Timeline& timeline, std::optional<int> count,
              ProgramSummary& summary) {
  Steps found = StepsOf(log, count);
  LeaveOutWarmUp(found.ranges);
  auto& steps = summary.steps;
  steps.from = found.from;
  steps.reason = found.reason;
  steps.count = static_cast<int>(found.ranges.size());
  steps.irregular = found.irregular;
  if (found.ranges.empty()) return;
  const auto first = found.ranges.front().begin;
  steps.warm_up_calls = static_cast<double>(first);
  for (std::size_t i = 0; i < first; ++i) steps.warm_up_seconds += log.executions[i].seconds;
  const auto averaged = AveragedSteps(found);
  AddWallTimes(averaged, steps);
  AddStepMeans(log, timeline, averaged, summary);
  steps.phases = PhasesOf(log, timeline, averaged);
}

}  // namespace

ProgramSummary SummarizeProgram(const verbose::VerboseLog& log, std::optional<int> steps) {
  ProgramSummary summary{.version = log.version,
                         .runtime = log.runtime,
                         .isa_words = log.isa_words,
                         .threads = log.threads,
                         .lines = log.lines,
                         .primitives = PrimitivesOf(log)};
  const auto timeline = TimelineOf(log);
  double covered = 0;
  for (std::size_t i = 0; i < log.executions.size(); ++i) {
    summary.seconds += log.executions[i].seconds;
    covered += timeline.executions[i];
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
