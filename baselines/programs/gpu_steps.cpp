#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/programs/gpu_device_work.h"
#include "baselines/programs/operators.h"
#include "counters/base/numbers.h"

namespace dlroof::programs {
namespace {

using gpu_trace::Trace;

constexpr double kMinOfWork =
    0.5;  // [1] share of the kernels' time of a graph whose launches are steps
constexpr std::size_t kMinSteps = 3;
constexpr double kMaxOfUsual = 1.5;  // [1] limit of a step's launches / the median

// Returns the steps that begin with the launches `begins` (in order). Omits steps with many more
// launches than usual, which contain other work. The last step gets the usual length.
std::vector<StepRange> StepsBetween(const std::vector<std::size_t>& begins, std::size_t launches) {
  std::vector<double> lengths;
  for (std::size_t i = 1; i < begins.size(); ++i)
    lengths.push_back(static_cast<double>(begins[i] - begins[i - 1]));
  if (lengths.empty()) return {};
  const double usual = Median(lengths);
  std::vector<StepRange> steps;
  for (std::size_t i = 1; i < begins.size(); ++i)
    if (lengths[i - 1] <= kMaxOfUsual * usual) steps.push_back({begins[i - 1], begins[i]});
  const auto end = begins.back() + static_cast<std::size_t>(usual);
  if (end <= launches) steps.push_back({begins.back(), end});
  return steps;
}

// Returns the steps that begin with launches of the CUDA graph with the most kernel time. Returns
// no steps if that is less than half of all kernel time.
Steps StepsOfGraph(const DeviceWork& work) {
  std::map<std::uint32_t, double> seconds;  // [s] by graph
  double all = 0;
  for (std::size_t i = 0; i < work.stream.size(); ++i) {
    const auto& task = work.Launch(i);
    all += Seconds(task.time);
    if (task.graph != 0) seconds[task.graph] += Seconds(task.time);
  }
  if (seconds.empty()) return {};
  const auto largest = std::ranges::max_element(
      seconds, {}, [](const auto& graph_and_time) { return graph_and_time.second; });
  if (largest->second < kMinOfWork * all) return {};
  std::vector<std::size_t> begins;
  std::optional<std::uint32_t> call;  // last call that launched the graph
  for (std::size_t i = 0; i < work.stream.size(); ++i) {
    const auto& launch = work.Launch(i);
    if (launch.graph != largest->first || call == launch.call) continue;
    call = launch.call;
    begins.push_back(i);
  }
  if (begins.size() < kMinSteps) return {};
  return {.from = StepsFrom::kGraphs, .ranges = StepsBetween(begins, work.stream.size())};
}

// Ranges that may mark steps and have the same name except for numbers.
struct Marks {
  bool of_model = false;  // each is a call of an outermost module of PyTorch (`--gpu --torch`)
  std::string name;       // name of the first range
  std::vector<std::size_t> begins;  // first launch of each range, in order
  double seconds = 0;               // [s] sum of the ranges' durations on the host
};

bool IsModelRange(const std::string& name) {
  return name.starts_with(kModuleSpan) && name.find('.') == name.npos;
}

// Returns whether the range may mark steps. XLA executes a compiled function per step. Ranges of
// operators do not count: their names may contain "step" ("Optimizer.step").
bool IsStepRange(const std::string& name) {
  if (name.starts_with("XlaModule:") || name.starts_with("ProfilerStep#")) return true;
  return NamesStep(name) && !name.starts_with(kModuleSpan) && !name.starts_with("Xla") &&
         !IsOperatorRange(name);
}

std::string WithoutNumbers(std::string name) {
  std::erase_if(name, [](unsigned char c) { return std::isdigit(c) != 0; });
  return name;
}

// Returns the ranges that may mark steps: step ranges before calls of a model, then the longest sum
// of durations first.
std::vector<Marks> MarksOf(const Trace& trace, const RangesAround& around, const DeviceWork& work) {
  std::map<std::string, Marks> groups;
  std::vector<Marks*> group_of(trace.ranges.size());
  for (std::uint32_t i = 0; i < trace.ranges.size(); ++i) {
    const auto& time = trace.ranges[i].time;
    const auto& name = trace.texts[trace.ranges[i].name];
    const bool of_model = IsModelRange(name);
    if (!of_model && !IsStepRange(name)) continue;
    const auto key = WithoutNumbers(name);
    auto& group = groups.try_emplace(key, Marks{.of_model = of_model, .name = name}).first->second;
    group.seconds += Seconds(time);
    group_of[i] = &group;
  }
  std::vector<bool> seen(trace.ranges.size());
  for (std::size_t i = 0; i < work.stream.size() && !groups.empty(); ++i)
    for (auto range = around.OfLaunch(work.Launch(i).launch);
         range != RangesAround::kNone && !seen[range]; range = around.OfRange(range)) {
      seen[range] = true;
      auto* group = group_of[range];
      if (group != nullptr && (group->begins.empty() || group->begins.back() < i))
        group->begins.push_back(i);
    }
  std::vector<Marks> marks;
  for (auto& [name, group] : groups)
    if (group.begins.size() >= kMinSteps) marks.push_back(std::move(group));
  std::ranges::stable_sort(marks, [](const Marks& a, const Marks& b) {
    return std::pair(a.of_model, -a.seconds) < std::pair(b.of_model, -b.seconds);
  });
  return marks;
}

// Returns the steps that begin with marks. dlroof's hook marks only some calls of a model: if the
// kernels repeat from call to call, all repetitions become steps of the length between two calls.
FoundGpuSteps StepsOfMarks(const Marks& marks, const DeviceWork& work) {
  FoundGpuSteps found{.steps = {.from = StepsFrom::kMarks}, .range = marks.name};
  auto& ranges = found.steps.ranges;
  ranges = StepsBetween(marks.begins, work.stream.size());
  if (!marks.of_model) return found;
  const auto repeated = FindRepetition(work.stream);
  const auto least =
      std::ranges::min(ranges, {}, [](const StepRange& range) { return range.end - range.begin; });
  const auto length = least.end - least.begin;
  if (!repeated || length % repeated->length != 0) return found;
  auto begin = marks.begins.front();
  while (begin >= repeated->begin + length) begin -= length;
  ranges.clear();
  for (; begin + length <= work.stream.size(); begin += length)
    if (begin >= repeated->begin) ranges.push_back({begin, begin + length});
  return found;
}

}  // namespace

FoundGpuSteps FindGpuSteps(const Trace& trace, const RangesAround& around, const DeviceWork& work,
                           std::optional<int> count) {
  if (count)
    return {SpecifiedSteps(work.stream, static_cast<std::size_t>(std::max(*count, 0))), ""};
  const auto marks = MarksOf(trace, around, work);
  if (!marks.empty() && !marks.front().of_model) return StepsOfMarks(marks.front(), work);
  auto steps = StepsOfGraph(work);
  if (steps.from != StepsFrom::kNone) return {std::move(steps), ""};
  if (!marks.empty()) return StepsOfMarks(marks.front(), work);
  steps = RepeatedSteps(work.stream);
  if (steps.reason)
    steps.reason->text += ": NVTX ranges named \"step\", --torch or --steps N tell the steps";
  return {std::move(steps), ""};
}

}  // namespace dlroof::programs
