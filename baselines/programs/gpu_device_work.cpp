#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/predicate.hpp>
#include <boost/core/demangle.hpp>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "baselines/programs/gpu_timeline.h"
#include "baselines/programs/program_summary.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"

namespace dlroof::programs {
namespace {

bool HasAny(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](auto word) { return text.find(word) != text.npos; });
}

using gpu_trace::Trace;

using KernelRows =
    std::map<std::tuple<std::string_view, gpu_trace::Size3, gpu_trace::Size3>, std::uint32_t>;

// Returns the kernel's index in GpuTimeline::kernels: kernels with equal name, grid and block have
// one row. Adds a new row.
std::uint32_t RowOf(const Trace& trace, const gpu_trace::Kernel& kernel, KernelRows& rows,
                    std::vector<GpuKernelUse>& kernels) {
  const auto& mangled = trace.texts[kernel.name];
  const auto [found, added] = rows.try_emplace({mangled, kernel.grid, kernel.block},
                                               static_cast<std::uint32_t>(kernels.size()));
  if (!added) return found->second;
  auto& use = kernels.emplace_back(GpuKernelUse{
      .name = boost::core::demangle(mangled.c_str()), .grid = kernel.grid, .block = kernel.block});
  if (use.name != mangled) use.mangled = mangled;
  return found->second;
}

void AddCopiesAndFills(const Trace& trace, std::uint32_t device, DeviceWork& work,
                       GpuTimeline& timeline) {
  using Sort = DeviceTask::Sort;
  for (std::uint32_t i = 0; i < trace.copies.size(); ++i) {
    const auto& copy = trace.copies[i];
    if (copy.place.device != device) continue;
    work.all.push_back({.time = copy.time, .sort = Sort::kCopy, .index = i, .place = copy.place});
    timeline.copies += 1;
  }
  for (const auto& fill : trace.fills) {
    if (fill.place.device != device) continue;
    work.all.push_back({.time = fill.time, .sort = Sort::kFill, .place = fill.place});
    timeline.fills += 1;
  }
}

// [1] The launches of a CUDA graph are steps if it has at least this share of all kernel time.
constexpr double kMinOfWork = 0.5;
constexpr std::size_t kMinSteps = 3;
constexpr double kMaxOfUsual = 1.5;  // [1] maximum number of a step's launches / median

// Returns the steps that begin with the launches `begins` (in order). Omits steps with many more
// launches than the median: they contain other work. The last step gets the median number.
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
// no steps if this is less than kMinOfWork of all kernel time, or with too few launches.
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

std::vector<std::int64_t> BeginsOf(const Trace& trace) {
  auto begins = VectorOf<std::int64_t>(trace.calls, &gpu_trace::Call::begin_ns);
  std::ranges::sort(begins);
  return begins;
}

double BusySeconds(const GpuTimes& times) {
  return times.kernel_seconds + times.copy_seconds + times.fill_seconds;
}

// NVTX ranges that may mark steps and whose names differ only in digits.
struct Marks {
  bool of_model = false;            // calls of an outermost PyTorch module (`--gpu --torch`)
  std::string name;                 // name of the first range
  std::vector<std::size_t> begins;  // first launch of each range, in order
  double seconds = 0;               // [s] sum of the ranges' durations on the host
};

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

// Returns the groups of ranges that may mark at least kMinSteps steps: IsStepRange groups, then
// calls of models, both by descending sum of durations.
std::vector<Marks> MarksOf(const Trace& trace, const RangesAround& around, const DeviceWork& work) {
  std::map<std::string, Marks> groups;
  std::vector<Marks*> group_of(trace.ranges.size());
  for (std::uint32_t i = 0; i < trace.ranges.size(); ++i) {
    const auto& time = trace.ranges[i].time;
    const auto& name = trace.texts[trace.ranges[i].name];
    const bool of_model = name.starts_with(kModuleSpan) && name.find('.') == name.npos;
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

// Returns the steps that begin where the ranges begin. dlroof's hook marks only some calls of a
// model. So if the kernels repeat (FindRepetition), and the shortest marked step is a multiple of
// the repeated sequence, divides the repetitions into steps of that length.
Steps StepsOfMarks(const Marks& marks, const DeviceWork& work) {
  Steps found{.from = StepsFrom::kMarks,
              .ranges = StepsBetween(marks.begins, work.stream.size()),
              .mark = marks.name};
  auto& ranges = found.ranges;
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

DeviceWork WorkOn(const Trace& trace, std::uint32_t device, GpuTimeline& timeline) {
  DeviceWork work;
  KernelRows rows;
  std::vector<std::optional<std::uint32_t>> row_of(trace.kernels.size());
  for (std::uint32_t i = 0; i < trace.launches.size(); ++i) {
    const auto& launch = trace.launches[i];
    if (launch.place.device != device) continue;
    auto& row = row_of[launch.kernel];
    if (!row) row = RowOf(trace, trace.kernels[launch.kernel], rows, timeline.kernels);
    auto& use = timeline.kernels[*row];
    use.launches += 1;
    use.seconds += Seconds(launch.time);
    if (launch.graph != 0) use.graph_launches += 1;
    work.all.push_back({.time = launch.time,
                        .index = *row,
                        .launch = i,
                        .place = launch.place,
                        .graph = launch.graph,
                        .call = launch.correlation});
    timeline.launches += 1;
  }
  AddCopiesAndFills(trace, device, work, timeline);
  std::ranges::stable_sort(work.all, {}, [](const DeviceTask& task) { return task.time.begin_ns; });
  for (std::size_t i = 0; i < work.all.size(); ++i) {
    if (work.all[i].sort != DeviceTask::Sort::kKernel) continue;
    work.stream.push_back(work.all[i].index);
    work.launch_places.push_back(i);
  }
  return work;
}

KernelKind KernelKindOf(std::string_view name) {
  const auto lower = boost::to_lower_copy(std::string(name));
  if (HasAny(lower, {"nccl"})) return KernelKind::kCollective;
  // PyTorch's kernels that copy or convert are elementwise kernels whose functor contains "copy".
  if (HasAny(lower, {"nchwtonhwc", "nhwctonchw", "tensortransform", "transpose", "permute",
                     "copy_kernel", "copykernel", "catarray", "im2col", "col2im", "convert"}))
    return KernelKind::kLayout;
  const bool product = HasAny(lower, {"gemm", "nvjet", "cutlass", "fprop", "dgrad", "wgrad", "conv",
                                      "winograd", "scudnn", "gemv", "flash", "fmha", "attention"});
  return product ? KernelKind::kProduct : KernelKind::kOther;
}

bool NamesStep(const std::string& name) {
  return boost::icontains(name, "step") || boost::icontains(name, "iter");
}

bool IsFp32Product(std::string_view name) {
  const auto lower = boost::to_lower_copy(std::string(name));
  if (KernelKindOf(name) != KernelKind::kProduct) return false;
  // Words of kernels for tensor cores: e.g. cuBLAS's tf32 kernels contain "s1688gemm".
  if (HasAny(lower, {"tf32", "s1688", "s16816", "s884", "bf16", "f16", "fp16", "half"}))
    return false;
  return HasAny(lower,
                {"sgemm", "scudnn", "f32f32_f32f32", "simt", "ffma", "gemm_f32", "winograd"});
}

std::string SizeText(const gpu_trace::Size3& size) {
  if (IsWholeGraph(size)) return "";
  if (size[2] > 1) return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
  return size[1] > 1 ? fmt::format("{}x{}", size[0], size[1]) : fmt::format("{}", size[0]);
}

Steps FindGpuSteps(const Trace& trace, const RangesAround& around, const DeviceWork& work,
                   std::optional<int> count) {
  if (count) return SpecifiedSteps(work.stream, static_cast<std::size_t>(std::max(*count, 0)));
  const auto marks = MarksOf(trace, around, work);
  if (!marks.empty() && !marks.front().of_model) return StepsOfMarks(marks.front(), work);
  auto steps = StepsOfGraph(work);
  if (steps.from != StepsFrom::kNone) return steps;
  if (!marks.empty()) return StepsOfMarks(marks.front(), work);
  steps = RepeatedSteps(work.stream);
  if (steps.reason)
    steps.reason->text += ": NVTX ranges named \"step\", --torch or --steps N tell the steps";
  return steps;
}

void AddPace(const Trace& traced, const Trace& untraced, GpuTimeline& timeline) {
  const auto with = BeginsOf(traced), without = BeginsOf(untraced);
  // Returns the number of calls from the call `number` to the end; 0 if it was not recorded.
  const auto to_end = [&](std::uint32_t number) -> std::size_t {
    const auto call =
        std::ranges::lower_bound(traced.calls, number, {}, &gpu_trace::Call::correlation);
    if (call == traced.calls.end() || call->correlation != number) return 0;
    return static_cast<std::size_t>(with.end() - std::ranges::lower_bound(with, call->begin_ns));
  };
  std::vector<double> traced_seconds, untraced_seconds;
  for (const auto& [begin, end] : timeline.order.step_calls) {
    const auto first = to_end(begin), next = to_end(end);
    if (first == 0 || next == 0 || first > without.size()) return;
    const auto seconds = [&](const std::vector<std::int64_t>& calls) {
      return Seconds(calls[calls.size() - next] - calls[calls.size() - first]);
    };
    traced_seconds.push_back(seconds(with));
    untraced_seconds.push_back(seconds(without));
  }
  if (traced_seconds.empty()) return;
  timeline.steps.call_seconds = Median(traced_seconds);
  timeline.steps.untraced_call_seconds = Median(untraced_seconds);
}

bool TakeNodes(GpuTimeline nodes, GpuTimeline& timeline) {
  const double graphs = timeline.order.step_graphs;
  if (timeline.device != nodes.device || timeline.steps.count == 0 || nodes.steps.count == 0 ||
      std::abs(nodes.order.step_graphs - graphs) > 0.01 * graphs)
    return false;
  const double busy = BusySeconds(timeline.times), of_nodes = BusySeconds(nodes.times);
  const double scale = of_nodes > busy ? busy / of_nodes : 1;
  for (auto* seconds :
       {&nodes.times.kernel_seconds, &nodes.times.copy_seconds, &nodes.times.fill_seconds,
        &nodes.times.overlap_seconds, &nodes.times.hidden_copy_seconds})
    *seconds *= scale;
  for (auto& use : nodes.kernels) {
    use.step_seconds *= scale;
    use.step_wall_seconds *= scale;
  }
  nodes.times.idle_seconds = timeline.times.idle_seconds;
  nodes.times.short_idle_seconds = timeline.times.short_idle_seconds;
  nodes.times.short_gaps = timeline.times.short_gaps;
  nodes.times.wall_seconds = timeline.times.wall_seconds;
  nodes.times.graph_idle_seconds = std::max(busy - BusySeconds(nodes.times), 0.0);
  timeline.steps.node_seconds = nodes.steps.median_seconds;
  timeline.steps.launches = nodes.steps.launches;
  nodes.steps = timeline.steps;
  nodes.gap = std::move(timeline.gap);
  nodes.lanes = std::move(timeline.lanes);
  nodes.lane_seconds = timeline.lane_seconds;
  nodes.pid = timeline.pid;
  nodes.wall_seconds = timeline.wall_seconds;
  nodes.order.step_calls = std::move(timeline.order.step_calls);
  timeline = std::move(nodes);
  return true;
}

GpuIdle IdleOf(const GpuTimeline& timeline) {
  const auto& times = timeline.times;
  const double idle = times.idle_seconds + times.graph_idle_seconds;
  if (idle <= kTraceCost * times.wall_seconds) return {true, idle};
  const auto& steps = timeline.steps;
  if (!steps.call_seconds || !steps.untraced_call_seconds) return {};
  const double untraced = *steps.untraced_call_seconds;
  // If the host is ahead of the device, its calls do not determine the step's time.
  if (*steps.call_seconds < (1 - kTraceCost) * steps.median_seconds ||
      untraced < BusySeconds(times))
    return {};
  if (*steps.call_seconds <= (1 + kTraceCost) * untraced) return {true, idle};
  return {false, std::min(untraced - BusySeconds(times), idle)};
}

}  // namespace dlroof::programs
