#include "baselines/programs/gpu_timeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "counters/base/keys.h"
#include "counters/base/numbers.h"

namespace dlroof::programs {
namespace {

using gpu_trace::Interval;
using gpu_trace::Trace;

constexpr double kOutlier = 1.5;         // [1] steps above this multiple of the median are ignored
constexpr std::size_t kLaneParts = 200;  // time slices of a lane
constexpr std::size_t kMaxLanes = 16;

using Sort = DeviceTask::Sort;

// A task begins or ends.
struct TaskEdge {
  std::int64_t at_ns;
  std::size_t task;  // index into DeviceWork::all
  bool begins;
};

// Returns the edges of the tasks that run in the window, clipped to it, in order of time. `first`
// is the index of the first task that may end after the window's begin. Adds the kernels' durations
// in the window to `kernel_seconds` [s].
std::vector<TaskEdge> EdgesIn(const DeviceWork& work, const Interval& window, std::size_t first,
                              double& kernel_seconds) {
  std::vector<TaskEdge> edges;
  for (std::size_t i = first; i < work.all.size(); ++i) {
    const auto& time = work.all[i].time;
    if (time.begin_ns >= window.end_ns) break;
    const auto begin = std::max(time.begin_ns, window.begin_ns);
    const auto end = std::min(time.end_ns, window.end_ns);
    if (end <= begin) continue;
    edges.push_back({begin, i, true});
    edges.push_back({end, i, false});
    if (work.all[i].sort == Sort::kKernel) kernel_seconds += Seconds(end - begin);
  }
  std::ranges::sort(edges, {}, &TaskEdge::at_ns);
  return edges;
}

// Divides the time of a window among the kernels, copies and fills that run in it: adds to the
// timeline's times (to overlap_seconds the durations of all kernels), and the kernels' shares to
// GpuKernelUse::step_wall_seconds.
void Divide(const DeviceWork& work, const Interval& window, std::size_t first,
            GpuTimeline& timeline) {
  auto& times = timeline.times;
  std::array<int, 3> running = {};  // by Sort
  std::int64_t at = window.begin_ns;
  // [s] Integral over time of 1 / number of running kernels. Its increase while a kernel runs is
  // the kernel's share of the time.
  double clock = 0;
  const auto pass = [&](std::int64_t to) {
    const double seconds = Seconds(to - at);
    if (running[0] > 0) {
      times.kernel_seconds += seconds;
      clock += seconds / running[0];
      if (running[1] > 0) times.hidden_copy_seconds += seconds;
    } else if (running[1] > 0) {
      times.copy_seconds += seconds;
    } else if (running[2] > 0) {
      times.fill_seconds += seconds;
    } else {
      times.idle_seconds += seconds;
      if (seconds > 0 && seconds <= kShortGap) {
        times.short_idle_seconds += seconds;
        times.short_gaps += 1;
      }
    }
    at = to;
  };
  std::unordered_map<std::size_t, double> clock_at_begin;  // by task
  for (const auto& edge : EdgesIn(work, window, first, times.overlap_seconds)) {
    if (edge.at_ns > at) pass(edge.at_ns);
    const auto& task = work.all[edge.task];
    running.at(static_cast<std::size_t>(task.sort)) += edge.begins ? 1 : -1;
    if (task.sort != Sort::kKernel) continue;
    if (edge.begins)
      clock_at_begin[edge.task] = clock;
    else
      timeline.kernels[task.index].step_wall_seconds += clock - clock_at_begin[edge.task];
  }
  pass(window.end_ns);
  times.wall_seconds += Seconds(window);
}

Interval WholeOf(const DeviceWork& work) {
  Interval whole = work.all.front().time;
  for (const auto& task : work.all) whole.end_ns = std::max(whole.end_ns, task.time.end_ns);
  return whole;
}

// A steady step: its launches [begin, end) and its time.
struct Step {
  std::size_t begin = 0, end = 0;
  Interval window;
};

// Returns the steps with their times. A step lasts until the first launch after it, so that idle
// time between steps counts. A step that ends with the trace has no end and is left out.
std::vector<Step> TimedSteps(const DeviceWork& work, const Steps& found) {
  std::vector<Step> steps;
  const auto begin_of = [&](std::size_t launch) { return work.Launch(launch).time.begin_ns; };
  for (const auto& range : found.ranges)
    if (range.end < work.stream.size() && range.begin < range.end)
      steps.push_back({range.begin, range.end, {begin_of(range.begin), begin_of(range.end)}});
  std::erase_if(steps, [](const Step& step) { return step.window.end_ns <= step.window.begin_ns; });
  return steps;
}

void SummarizeSteps(const DeviceWork& work, std::vector<Step>& steps, GpuSteps& summary) {
  auto walls = VectorOf<double>(steps, [&](const auto& step) { return Seconds(step.window); });
  const double most = kOutlier * Median(walls);
  const auto before = steps.size();
  summary.warm_up_launches = static_cast<double>(steps.front().begin);
  std::erase_if(steps, [&](const Step& step) { return Seconds(step.window) > most; });
  summary.outliers = static_cast<int>(before - steps.size());
  walls.clear();
  for (const auto& step : steps) {
    walls.push_back(Seconds(step.window));
    summary.launches += static_cast<double>(step.end - step.begin);
  }
  summary.count = static_cast<int>(steps.size());
  summary.launches /= summary.count;
  summary.warm_up_seconds = Seconds(steps.front().window.begin_ns - work.all.front().time.begin_ns);
  std::ranges::sort(walls);
  const auto at = [&](double share) {
    return walls[static_cast<std::size_t>(
        std::lround(share * static_cast<double>(walls.size() - 1)))];
  };
  summary.least_seconds = walls.front();
  summary.lower_seconds = at(0.25);
  summary.median_seconds = MedianOfSorted(walls);
  summary.upper_seconds = at(0.75);
  summary.most_seconds = walls.back();
}

// Returns the latest end [ns] of the tasks up to each task.
std::vector<std::int64_t> LatestEnds(const DeviceWork& work) {
  std::int64_t latest = 0;
  return VectorOf<std::int64_t>(work.all, [&](const DeviceTask& task) {
    latest = std::max(latest, task.time.end_ns);
    return latest;
  });
}

// Returns the index of the first task that may still run at this time: all tasks before it ended.
std::size_t FirstRunning(const std::vector<std::int64_t>& latest_ends, std::int64_t at_ns) {
  return static_cast<std::size_t>(std::ranges::upper_bound(latest_ends, at_ns) -
                                  latest_ends.begin());
}

void AddCopies(const Trace& trace, const DeviceWork& work, const std::vector<Interval>& windows,
               GpuTimeline& timeline) {
  constexpr std::array<std::string_view, 5> kNames = {"to the GPU", "to the host", "on the GPU",
                                                      "between GPUs", "other"};
  std::array<GpuCopies, 5> kinds;
  const double weight = 1 / static_cast<double>(windows.size());
  const auto begin_of = [](const DeviceTask& task) { return task.time.begin_ns; };
  for (const auto& window : windows)
    for (auto task = std::ranges::lower_bound(work.all, window.begin_ns, {}, begin_of);
         task != work.all.end() && begin_of(*task) < window.end_ns; ++task) {
      if (task->sort != Sort::kCopy) continue;
      const auto& copy = trace.copies[task->index];
      auto& kind = kinds[static_cast<std::size_t>(copy.kind)];
      kind.copies += weight;
      kind.bytes += weight * copy.bytes;
      kind.seconds += weight * Seconds(copy.time);
      if (copy.pageable) kind.pageable_bytes += weight * copy.bytes;
    }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    kinds[i].kind = kNames[i];
    if (kinds[i].copies > 0) timeline.copy_kinds.push_back(kinds[i]);
  }
}

std::string NameOf(const DeviceTask& task, const GpuTimeline& timeline) {
  if (task.sort == Sort::kKernel) return timeline.kernels[task.index].name;
  return task.sort == Sort::kCopy ? "a copy" : "a fill of memory";
}

// Returns the name of the innermost NVTX range that is open at `at_ns`, or "".
std::string RangeAt(const Trace& trace, std::int64_t at_ns) {
  const gpu_trace::Range* innermost = nullptr;
  for (const auto& range : trace.ranges) {
    if (range.time.begin_ns > at_ns) break;
    if (range.time.end_ns >= at_ns && (innermost == nullptr || range.depth >= innermost->depth))
      innermost = &range;
  }
  return innermost == nullptr ? "" : trace.texts[innermost->name];
}

void AddGap(const Trace& trace, const DeviceWork& work, const Interval& within,
            GpuTimeline& timeline) {
  std::int64_t longest = 0;  // [ns]
  std::size_t before = 0, after = 0, last = 0;
  for (std::size_t i = 1; i < work.all.size(); ++i) {
    const auto& time = work.all[i].time;
    const auto end = work.all[last].time.end_ns;
    if (time.begin_ns - end > longest && end >= within.begin_ns && time.begin_ns <= within.end_ns) {
      longest = time.begin_ns - end;
      before = last;
      after = i;
    }
    if (time.end_ns > end) last = i;
  }
  if (longest > 0)
    timeline.gap =
        GpuGap{Seconds(longest), NameOf(work.all[before], timeline),
               NameOf(work.all[after], timeline), RangeAt(trace, work.all[before].time.end_ns)};
}

void AddLanes(const DeviceWork& work, const Interval& window, std::size_t first,
              GpuTimeline& timeline) {
  timeline.lane_seconds = Seconds(window);
  const double part = static_cast<double>(window.end_ns - window.begin_ns) / kLaneParts;
  if (part <= 0) return;
  std::map<gpu_trace::Place, GpuLane> lanes;
  for (std::size_t i = first; i < work.all.size(); ++i) {
    const auto& task = work.all[i];
    if (task.time.begin_ns >= window.end_ns) break;
    const double begin =
        static_cast<double>(std::max(task.time.begin_ns, window.begin_ns) - window.begin_ns) / part;
    const double end =
        static_cast<double>(std::min(task.time.end_ns, window.end_ns) - window.begin_ns) / part;
    if (end <= begin) continue;
    const std::vector<double> empty(kLaneParts);
    auto& lane =
        lanes.try_emplace(task.place, GpuLane{task.place.context, task.place.stream, empty, empty})
            .first->second;
    auto& shares = task.sort == Sort::kKernel ? lane.kernels : lane.copies;
    for (auto j = static_cast<std::size_t>(begin); j < kLaneParts; ++j) {
      const auto at = static_cast<double>(j);
      if (at >= end) break;
      shares[j] = std::min(1.0, shares[j] + std::min(end, at + 1) - std::max(begin, at));
    }
  }
  for (auto& [key, lane] : lanes)
    if (timeline.lanes.size() < kMaxLanes) timeline.lanes.push_back(std::move(lane));
}

// Sums kernel time by NVTX range over all steps, with outliers: marking ranges slows steps down.
void AddRangeWork(const Trace& trace, const RangesAround& around, const DeviceWork& work,
                  const Steps& found, GpuTimeline& timeline) {
  auto steps = found.ranges;
  if (timeline.steps.count == 0) steps = {{0, work.stream.size()}};
  SetRangeWork(trace, around, work, std::move(steps), timeline);
  if (!trace.ranges.empty() && timeline.range_work.empty() && !work.stream.empty())
    timeline.range_reason =
        Reason{trace.calls.empty()        ? "CUPTI recorded no call of CUDA"
               : !around.KnowsCalls(work) ? "no recorded call of CUDA has the number of a kernel"
                                          : "none was open on a thread that launched a kernel"};
}

void AddStepCalls(const DeviceWork& work, const std::vector<Step>& steps, OrderedLaunches& order) {
  double graphs = 0;
  for (const auto& step : steps) {
    order.step_calls.emplace_back(work.Launch(step.begin).call, work.Launch(step.end).call);
    std::uint32_t last = 0;  // last call that launched a graph
    for (std::size_t i = step.begin; i < step.end; ++i) {
      const auto& task = work.Launch(i);
      if (task.graph == 0 || task.call == last) continue;
      last = task.call;
      ++graphs;
    }
  }
  order.step_graphs = graphs / static_cast<double>(steps.size());
}

// Describes the found steps in timeline.steps. Returns the steady steps, or the whole trace as a
// single step if there are none.
std::vector<Step> StepsToSum(const DeviceWork& work, const Steps& found, GpuTimeline& timeline) {
  auto steps = TimedSteps(work, found);
  timeline.steps.from = found.from;
  timeline.steps.range = found.mark;
  timeline.steps.reason = found.reason;
  if (!steps.empty()) {
    SummarizeSteps(work, steps, timeline.steps);
    return steps;
  }
  if (found.from != StepsFrom::kNone) {
    timeline.steps.from = StepsFrom::kNone;
    timeline.steps.reason = Reason{"no step is followed by another one"};
  }
  return {{0, work.stream.size(), WholeOf(work)}};
}

// Sorts the kernels, the most time first, and sets the kernel and time of each launch in `order`.
void SortKernels(const DeviceWork& work, GpuTimeline& timeline) {
  auto& kernels = timeline.kernels;
  std::vector<std::uint32_t> rows(kernels.size()), places(kernels.size());
  std::iota(rows.begin(), rows.end(), 0U);
  std::ranges::stable_sort(rows, std::ranges::greater{}, [&](std::uint32_t row) {
    return std::pair(kernels[row].step_wall_seconds, kernels[row].seconds);
  });
  std::vector<GpuKernelUse> sorted;
  for (const auto row : rows) {
    places[row] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(std::move(kernels[row]));
  }
  kernels = std::move(sorted);
  for (std::size_t i = 0; i < work.stream.size(); ++i) {
    timeline.order.kernels.push_back(places[work.stream[i]]);
    timeline.order.seconds.push_back(Seconds(work.Launch(i).time));
  }
}

GpuTimeline TimelineOn(const Trace& trace, std::uint32_t device, std::optional<int> count) {
  GpuTimeline timeline{.pid = trace.pid, .command = trace.command, .device = device};
  for (const auto& known : trace.devices)
    if (known.number == device) {
      timeline.device_name = known.name;
      timeline.compute_capability = known.compute_capability;
    }
  const auto work = WorkOn(trace, device, timeline);
  const auto whole = WholeOf(work);
  timeline.wall_seconds = Seconds(whole);
  const RangesAround around(trace);
  const auto found = FindGpuSteps(trace, around, work, count);
  const auto steps = StepsToSum(work, found, timeline);
  const auto latest_ends = LatestEnds(work);
  const auto windows = VectorOf<Interval>(steps, &Step::window);
  const double weight = 1 / static_cast<double>(steps.size());
  for (const auto& step : steps) {
    Divide(work, step.window, FirstRunning(latest_ends, step.window.begin_ns), timeline);
    for (std::size_t i = step.begin; i < step.end; ++i) {
      auto& use = timeline.kernels[work.Launch(i).index];
      use.step_launches += weight;
      use.step_seconds += weight * Seconds(work.Launch(i).time);
    }
  }
  auto& times = timeline.times;
  times.overlap_seconds -= times.kernel_seconds;
  for (auto* value : {&times.kernel_seconds, &times.copy_seconds, &times.fill_seconds,
                      &times.idle_seconds, &times.wall_seconds, &times.overlap_seconds,
                      &times.hidden_copy_seconds, &times.short_idle_seconds, &times.short_gaps})
    *value *= weight;
  for (auto& use : timeline.kernels) use.step_wall_seconds *= weight;
  AddRangeWork(trace, around, work, found, timeline);
  if (timeline.steps.count > 0) AddStepCalls(work, steps, timeline.order);
  AddCopies(trace, work, windows, timeline);
  AddGap(trace, work, {windows.front().begin_ns, windows.back().end_ns}, timeline);
  const auto& middle = steps[steps.size() / 2];
  AddLanes(work, middle.window, FirstRunning(latest_ends, middle.window.begin_ns), timeline);
  SortKernels(work, timeline);
  timeline.order.steady_begin = middle.begin;
  timeline.order.steady_end = middle.end;
  return timeline;
}

}  // namespace

double GpuTimeline::KernelSeconds() const {
  double seconds = 0;
  for (const auto& kernel : kernels) seconds += kernel.seconds;
  return seconds;
}

std::vector<GpuTimeline> TimelinesOf(const Trace& trace, std::optional<int> steps) {
  std::set<std::uint32_t> devices;
  for (const auto& launch : trace.launches) devices.insert(launch.place.device);
  for (const auto& copy : trace.copies) devices.insert(copy.place.device);
  for (const auto& fill : trace.fills) devices.insert(fill.place.device);
  auto timelines = VectorOf<GpuTimeline>(
      devices, [&](const auto device) { return TimelineOn(trace, device, steps); });
  std::ranges::stable_sort(timelines, std::ranges::greater{}, &GpuTimeline::KernelSeconds);
  return timelines;
}

}  // namespace dlroof::programs
