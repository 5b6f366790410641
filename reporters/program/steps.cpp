#include "reporters/program/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "reporters/program/step_finder.h"

namespace dlroof::programs {
namespace {

std::optional<double> StartOf(const verbose::VerboseLog& log, std::size_t execution) {
  if (execution >= log.executions.size()) return std::nullopt;
  return log.executions[execution].start_seconds;
}

// Steps between marks that begin and end.
Steps MarkedSteps(const verbose::VerboseLog& log) {
  Steps steps;
  const verbose::StepMark* open = nullptr;
  for (const auto& mark : log.marks) {
    if (mark.begin) {
      open = &mark;
    } else if (open != nullptr && open->step == mark.step && mark.seconds >= open->seconds) {
      steps.ranges.push_back({open->before, mark.before, open->seconds, mark.seconds});
      open = nullptr;
    }
  }
  if (!steps.ranges.empty()) steps.from = StepsFrom::kMarks;
  return steps;
}

constexpr std::string_view kFromKeys[] = {"none", "found", "given", "marks"};

struct Edge {
  double at = 0;  // [s]
  bool begins = false;
  std::size_t call = 0;
};

}  // namespace

std::string_view Key(StepsFrom from) { return kFromKeys[static_cast<std::size_t>(from)]; }

std::optional<StepsFrom> StepsFromKey(std::string_view key) {
  const auto* found = std::ranges::find(kFromKeys, key);
  if (found == std::end(kFromKeys)) return std::nullopt;
  return static_cast<StepsFrom>(found - kFromKeys);
}

Steps FindSteps(std::span<const std::uint32_t> stream, std::size_t distinct,
                std::optional<int> count) {
  Steps steps;
  const auto division =
      FindDivision(stream, distinct, static_cast<std::size_t>(std::max(count.value_or(0), 0)));
  if (!division.accepted) {
    steps.reason = count ? fmt::format("no {} equal steps found", *count) : "no steady steps found";
    return steps;
  }
  steps.from = count ? StepsFrom::kGiven : StepsFrom::kFound;
  std::size_t last = 0;
  for (std::size_t i = 0; i < division.cuts.size(); ++i) {
    if (!division.steady[i]) continue;
    if (!steps.ranges.empty()) steps.irregular += static_cast<int>(i - last - 1);
    last = i;
    steps.ranges.push_back(
        {division.cuts[i], i + 1 < division.cuts.size() ? division.cuts[i + 1] : stream.size()});
  }
  return steps;
}

Steps StepsOf(const verbose::VerboseLog& log, std::optional<int> count) {
  if (!count)
    if (auto marked = MarkedSteps(log); marked.from == StepsFrom::kMarks) return marked;
  std::vector<std::uint32_t> stream;
  stream.reserve(log.executions.size());
  for (const auto& execution : log.executions) stream.push_back(execution.primitive);
  auto steps = FindSteps(stream, log.primitives.size(), count);
  for (auto& range : steps.ranges) {
    range.begin_seconds = StartOf(log, range.begin);
    range.end_seconds = StartOf(log, range.end);
    // A clock that goes back, as where logs of several runs are joined, tells nothing.
    if (range.begin_seconds && range.end_seconds && *range.end_seconds < *range.begin_seconds)
      range.end_seconds.reset();
  }
  return steps;
}

Timeline TimelineOf(const verbose::VerboseLog& log) {
  const std::size_t executions = log.executions.size();
  Timeline timeline{.stamped = executions > 0};
  std::vector<double> own(executions + log.creations.size());
  std::vector<Edge> edges;
  edges.reserve(2 * own.size());
  const auto add = [&](std::size_t call, double seconds, const std::optional<double>& start) {
    own[call] = seconds;
    if (!start) return;
    edges.push_back({*start, true, call});
    edges.push_back({*start + seconds, false, call});
  };
  for (std::size_t i = 0; i < executions; ++i) {
    const auto& one = log.executions[i];
    timeline.stamped = timeline.stamped && one.start_seconds.has_value();
    add(i, one.seconds, one.start_seconds);
  }
  for (std::size_t i = 0; i < log.creations.size(); ++i)
    add(executions + i, log.creations[i].seconds, log.creations[i].start_seconds);
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) {
    return a.at != b.at ? a.at < b.at : a.begins && !b.begins;
  });
  // `shared`: integral over the clock of 1 / (calls that run).
  double shared = 0, before = 0;
  std::size_t running = 0;
  std::vector<double> at_begin(own.size());
  for (const auto& edge : edges) {
    if (running > 0) shared += (edge.at - before) / static_cast<double>(running);
    before = edge.at;
    if (edge.begins) {
      at_begin[edge.call] = shared;
      ++running;
    } else if (running > 0) {
      own[edge.call] = std::max(shared - at_begin[edge.call], 0.0);
      --running;
    }
  }
  timeline.executions.assign(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(executions));
  timeline.creations.assign(own.begin() + static_cast<std::ptrdiff_t>(executions), own.end());
  return timeline;
}

}  // namespace dlroof::programs
