#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "baselines/programs/gpu_device_work.h"
#include "baselines/programs/operators.h"
#include "counters/base/numbers.h"

namespace dlroof::programs {
namespace {

using gpu_trace::Trace;

constexpr double kMaxOfWork = 0.5;  // [1] share of the launches that graphs have, if they are steps
constexpr std::size_t kMinSteps = 3;
constexpr double kMaxOfUsual = 1.5;  // [1] of the usual launches between two marks of steps

// Launches of one graph launch are one token, other launches are their own.
struct Tokens {
  std::vector<std::uint32_t> symbols;  // a kernel, or `kernels` + a number of the graph
  std::vector<std::size_t> launches;   // the first launch of each
  // The graph with most launches, and their number.
  std::optional<std::uint32_t> graph;
  std::size_t of_graph = 0;
};

constexpr std::size_t kNone = ~std::size_t{0};

Tokens TokensOf(const DeviceWork& work, std::size_t kernels) {
  Tokens tokens;
  std::map<std::uint32_t, std::uint32_t> graphs;
  std::map<std::uint32_t, std::size_t> sizes;
  // The token of the latest launch of each graph, and of each node.
  std::unordered_map<std::uint32_t, std::size_t> latest;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> of_node;
  for (std::size_t i = 0; i < work.stream.size(); ++i) {
    const auto& launch = work.Launch(i);
    auto symbol = work.stream[i];
    if (launch.graph) {
      symbol = graphs.try_emplace(*launch.graph, kernels + graphs.size()).first->second;
      ++sizes[symbol];
      // A node that comes again is of the next launch of its graph.
      const auto found = latest.find(symbol);
      auto& token = of_node.try_emplace({symbol, launch.graph_node}, kNone).first->second;
      if (found != latest.end() && token != found->second) {
        token = found->second;
        continue;
      }
      token = latest[symbol] = tokens.symbols.size();
    }
    tokens.symbols.push_back(symbol);
    tokens.launches.push_back(i);
  }
  for (const auto& [symbol, size] : sizes)
    if (size > tokens.of_graph) {
      tokens.graph = symbol;
      tokens.of_graph = size;
    }
  return tokens;
}

// Returns the steps between `begins`, launches in order with which steps begin. What has many more
// launches than usual between them has something else in it, and is left out. The last step is as
// long as usual.
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

// Of a program most of whose launches come from one CUDA graph, a step is the sequence of launches
// that repeats from the graph's first launch on; if none repeats, each launch of the graph begins a
// step. Returns no steps of other programs.
Steps StepsOfGraphs(const DeviceWork& work, std::size_t kernels) {
  const auto tokens = TokensOf(work, kernels);
  if (!tokens.graph ||
      static_cast<double>(tokens.of_graph) < kMaxOfWork * static_cast<double>(work.stream.size()))
    return {};
  const auto first = static_cast<std::size_t>(std::ranges::find(tokens.symbols, *tokens.graph) -
                                              tokens.symbols.begin());
  auto steps = RepeatedSteps(std::span(tokens.symbols).subspan(first));
  for (auto& range : steps.ranges) {
    const auto launch_at = [&](std::size_t token) {
      return first + token < tokens.launches.size() ? tokens.launches[first + token]
                                                    : work.stream.size();
    };
    range.begin = launch_at(range.begin);
    range.end = launch_at(range.end);
  }
  if (steps.from == StepsFrom::kNone) {
    std::vector<std::size_t> begins;
    for (std::size_t i = first; i < tokens.symbols.size(); ++i)
      if (tokens.symbols[i] == *tokens.graph) begins.push_back(tokens.launches[i]);
    if (begins.size() < kMinSteps) return {};
    steps.ranges = StepsBetween(begins, work.stream.size());
  }
  steps.from = StepsFrom::kGraphs;
  return steps;
}

// What ranges of one name, numbers aside, say of steps.
enum class MarkSort {
  kStep,      // the program calls them steps
  kExecuted,  // each executes a function that XLA has compiled
  kModel      // each is a call of an outermost module of PyTorch (`profile --gpu --torch`)
};

struct Marks {
  MarkSort sort = MarkSort::kStep;
  std::string name;                 // of the first one
  std::vector<std::size_t> begins;  // the first launch of each, in order
  double seconds = 0;               // [s] sum, of the host
};

std::optional<MarkSort> SortOf(const std::string& name) {
  if (name.starts_with(kModuleSpan))
    return name.find('.') == name.npos ? std::optional(MarkSort::kModel) : std::nullopt;
  if (name.starts_with("XlaModule:")) return MarkSort::kExecuted;
  // An operator's range may be one of a few that were marked ("Optimizer.step").
  const bool step = NamesStep(name) && !name.starts_with("Xla") &&
                    (!IsOperatorRange(name) || name.starts_with("ProfilerStep#"));
  return step ? std::optional(MarkSort::kStep) : std::nullopt;
}

// A program may execute other compiled functions a few times beside its steps.
std::size_t LeastOf(MarkSort sort) { return sort == MarkSort::kExecuted ? 8 : kMinSteps; }

std::string WithoutNumbers(std::string name) {
  std::erase_if(name, [](unsigned char c) { return std::isdigit(c) != 0; });
  return name;
}

// Returns the ranges that may mark steps: the surest sort first, the longest in all first.
std::vector<Marks> MarksOf(const Trace& trace, const RangesAround& around, const DeviceWork& work) {
  std::map<std::string, Marks> groups;
  std::vector<Marks*> group_of(trace.ranges.size());
  for (std::uint32_t i = 0; i < trace.ranges.size(); ++i) {
    const auto& time = trace.ranges[i].time;
    const auto& name = trace.texts[trace.ranges[i].name];
    const auto sort = SortOf(name);
    if (!sort) continue;
    const auto key = *sort == MarkSort::kStep ? WithoutNumbers(name) : name;
    auto& group = groups.try_emplace(key, Marks{.sort = *sort, .name = name}).first->second;
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
    if (group.begins.size() >= LeastOf(group.sort)) marks.push_back(std::move(group));
  std::ranges::stable_sort(marks, [](const Marks& a, const Marks& b) {
    return std::pair(a.sort, -a.seconds) < std::pair(b.sort, -b.seconds);
  });
  return marks;
}

// Returns the steps that begin with marks. The hook marks few calls of a model: if the kernels
// repeat from call to call, all repetitions are steps, each as long as from one call to the next.
FoundGpuSteps StepsOfMarks(const Marks& marks, const DeviceWork& work) {
  FoundGpuSteps found{.steps = {.from = StepsFrom::kMarks}, .range = marks.name};
  auto& ranges = found.steps.ranges;
  ranges = StepsBetween(marks.begins, work.stream.size());
  if (marks.sort != MarkSort::kModel) return found;
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
                           std::size_t kernels, std::optional<int> count) {
  if (count)
    return {SpecifiedSteps(work.stream, static_cast<std::size_t>(std::max(*count, 0))), ""};
  const auto marks = MarksOf(trace, around, work);
  if (!marks.empty() && marks.front().sort != MarkSort::kModel)
    return StepsOfMarks(marks.front(), work);
  auto steps = StepsOfGraphs(work, kernels);
  if (steps.from != StepsFrom::kNone) return {std::move(steps), ""};
  if (!marks.empty()) return StepsOfMarks(marks.front(), work);
  steps = RepeatedSteps(work.stream);
  if (steps.reason)
    steps.reason->text += ": NVTX ranges named \"step\", --torch or --steps N tell the steps";
  return {std::move(steps), ""};
}

}  // namespace dlroof::programs
