#include "baselines/programs/gpu_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "baselines/programs/operators.h"

namespace dlroof::programs {
namespace {

using gpu_trace::Trace;

constexpr double kMostOfWork =
    0.5;  // [1] share of the launches that graphs have, if they are steps
constexpr std::size_t kLeastSteps = 3;
constexpr double kLeastExecutions = 8;  // [1] of a compiled function that decides the steps
// Longer segments are hardly a layer.
constexpr std::size_t kMostOfLayer = 64;  // [1] launches

// Launches of one graph launch are one token, other launches are their own.
struct Tokens {
  std::vector<std::uint32_t> symbols;  // a kernel, or `kernels` + a number of the graph
  std::vector<std::size_t> launches;   // the first launch of each
  std::size_t distinct = 0;
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
  tokens.distinct = kernels + graphs.size();
  for (const auto& [symbol, size] : sizes)
    if (size > tokens.of_graph) {
      tokens.graph = symbol;
      tokens.of_graph = size;
    }
  return tokens;
}

// Returns the steps of a program most of whose launches come from one CUDA graph, if it has some.
Steps StepsOfGraphs(const DeviceWork& work, std::size_t kernels) {
  const auto tokens = TokensOf(work, kernels);
  if (!tokens.graph ||
      static_cast<double>(tokens.of_graph) < kMostOfWork * static_cast<double>(work.stream.size()))
    return {};
  // What is launched before the graph is warm-up.
  const auto first = static_cast<std::size_t>(std::ranges::find(tokens.symbols, *tokens.graph) -
                                              tokens.symbols.begin());
  const auto symbols = std::span(tokens.symbols).subspan(first);
  const auto launch_at = [&](std::size_t token) {
    return first + token < tokens.launches.size() ? tokens.launches[first + token]
                                                  : work.stream.size();
  };
  Steps steps;
  const auto times = static_cast<std::size_t>(std::ranges::count(symbols, *tokens.graph));
  if (times == symbols.size()) {
    if (times < kLeastSteps) return {};
    for (std::size_t i = 0; i < times; ++i) steps.ranges.push_back({i, i + 1, {}, {}});
    steps.total = static_cast<int>(times);
  } else {
    steps = FindSteps(symbols, tokens.distinct);
    if (steps.from == StepsFrom::kNone) return {};
  }
  steps.from = StepsFrom::kGraphs;
  for (auto& range : steps.ranges) {
    range.begin = launch_at(range.begin);
    range.end = launch_at(range.end);
  }
  return steps;
}

// NVTX ranges of one name, numbers aside.
struct Marks {
  std::string name;  // of the first one
  std::vector<gpu_trace::Interval> times;
  std::vector<std::uint32_t> ranges;  // of Trace::ranges
  double seconds = 0;                 // [s] sum
  bool said = false;                  // the program calls them steps

  void Add(const Trace& trace, std::uint32_t range) {
    const auto& time = trace.ranges[range].time;
    if (times.empty()) name = trace.texts[trace.ranges[range].name];
    times.push_back(time);
    ranges.push_back(range);
    seconds += Seconds(time.end_ns - time.begin_ns);
  }
};

// Returns the name without its numbers.
std::string WithoutNumbers(const std::string& name) {
  std::string rest;
  for (const char c : name)
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) rest += c;
  return rest;
}

// Returns the ranges that may mark steps, the longest in all first.
std::vector<Marks> MarksOf(const Trace& trace) {
  constexpr std::string_view kXlaModule = "XlaModule:";  // one execution of a compiled function
  std::map<std::string, Marks> groups;
  for (std::uint32_t i = 0; i < trace.ranges.size(); ++i) {
    const auto& name = trace.texts[trace.ranges[i].name];
    // An operator's range may be one of a few that were marked ("Optimizer.step").
    const bool said =
        NamesStep(name) && (!IsOperatorRange(name) || name.starts_with("ProfilerStep#"));
    const bool executed = name.starts_with(kXlaModule);
    if (!executed && (!said || name.starts_with("Xla"))) continue;
    auto& group = groups[executed ? name : WithoutNumbers(name)];
    group.said = !executed;
    group.Add(trace, i);
  }
  std::vector<Marks> marks;
  for (auto& [name, group] : groups)
    if (group.times.size() >= kLeastSteps) marks.push_back(std::move(group));
  std::ranges::stable_sort(marks, [](const Marks& a, const Marks& b) {
    return std::pair(a.said, a.seconds) > std::pair(b.said, b.seconds);
  });
  return marks;
}

// Returns the calls of modules that are in no other module (`profile --gpu --torch`), the longest
// in all first. Not every step need have them.
std::vector<Marks> ModulesOf(const Trace& trace) {
  std::map<std::string, Marks> groups;
  for (std::uint32_t i = 0; i < trace.ranges.size(); ++i) {
    const auto& name = trace.texts[trace.ranges[i].name];
    if (!name.starts_with(kModuleSpan) || name.find('.') != name.npos) continue;
    groups[name].Add(trace, i);
  }
  std::vector<Marks> modules;
  for (auto& [name, group] : groups)
    if (group.times.size() >= kLeastSteps) modules.push_back(std::move(group));
  std::ranges::stable_sort(modules, std::ranges::greater{}, &Marks::seconds);
  return modules;
}

// How often steps and ranges occur in the time that both have. The host may be ahead of the device.
struct Numbers {
  double steps = 0, ranges = 0;

  bool Agree() const { return std::abs(steps - ranges) <= std::max(1.0, 0.02 * ranges); }
  // Returns k if each range has k of the steps.
  std::optional<std::size_t> Times() const {
    if (ranges <= 0) return std::nullopt;
    const double times = std::round(steps / ranges);
    if (times < 2 || std::abs(steps / times - ranges) >= 0.75) return std::nullopt;
    return static_cast<std::size_t>(times);
  }
};

// Counts the steps that were launched in a mark, and the marks in which they were launched.
Numbers NumbersByCalls(const Trace& trace, const RangesAround& around, const DeviceWork& work,
                       const Steps& steps, const Marks& marks) {
  std::vector<bool> is_mark(trace.ranges.size()), seen(trace.ranges.size());
  for (const auto range : marks.ranges) is_mark[range] = true;
  Numbers numbers;
  for (const auto& step : steps.ranges) {
    bool in_mark = false;
    for (std::size_t i = step.begin; i < step.end; ++i) {
      auto range = around.OfLaunch(work.Launch(i).launch);
      while (range != RangesAround::kNone && !is_mark[range]) range = around.OfRange(range);
      if (range == RangesAround::kNone) continue;
      in_mark = true;
      numbers.ranges += seen[range] ? 0 : 1;
      seen[range] = true;
    }
    numbers.steps += in_mark ? 1 : 0;
  }
  return numbers;
}

Numbers NumbersOf(const Trace& trace, const RangesAround& around, const DeviceWork& work,
                  const Steps& steps, const Marks& marks) {
  if (const auto numbers = NumbersByCalls(trace, around, work, steps, marks); numbers.ranges > 0)
    return numbers;
  Numbers numbers;
  const auto first_mark = marks.times.front().begin_ns;
  const auto first_step = work.Launch(steps.ranges.front().begin).time.begin_ns;
  for (const auto& range : steps.ranges)
    numbers.steps += work.Launch(range.begin).time.begin_ns >= first_mark ? 1 : 0;
  if (numbers.steps > 0) numbers.steps += steps.irregular;
  for (const auto& time : marks.times) numbers.ranges += time.end_ns >= first_step ? 1 : 0;
  return numbers;
}

// Joins each `times` segments that follow one another to a step. The last one is the last of a
// step.
void Join(std::size_t times, Steps& steps) {
  std::vector<StepRange> joined;
  const auto& ranges = steps.ranges;
  for (std::size_t end = ranges.size(); end >= times;) {
    const std::size_t begin = end - times;
    bool together = true;
    for (std::size_t i = begin + 1; i < end; ++i)
      together = together && ranges[i].begin == ranges[i - 1].end;
    if (!together) {
      --end;
      continue;
    }
    joined.push_back({ranges[begin].begin, ranges[end - 1].end, {}, {}});
    end = begin;
  }
  std::ranges::reverse(joined);
  steps.ranges = std::move(joined);
  steps.total = static_cast<int>(steps.ranges.size());
}

// Compares the steps with the program's ranges.
void CheckMarks(const Trace& trace, const RangesAround& around, const DeviceWork& work,
                const std::vector<Marks>& marks, FoundGpuSteps& found) {
  auto& steps = found.steps;
  const auto numbers_of = [&](const Marks& one) {
    return NumbersOf(trace, around, work, steps, one);
  };
  for (const auto& one : marks)
    if (numbers_of(one).Agree()) {
      steps.confirmed = true;
      steps.doubt.reset();
      return;
    }
  const auto& first = marks.front();
  const auto numbers = numbers_of(first);
  // A program may execute other compiled functions a few times beside its steps.
  const bool decides = first.said || numbers.ranges >= kLeastExecutions;
  if (const auto times = numbers.Times(); times && decides) {
    auto joined = steps;
    Join(*times, joined);
    if (joined.ranges.size() >= 2) {
      steps = std::move(joined);
      steps.from = StepsFrom::kMarks;
      steps.doubt.reset();
      found.range = first.name;
      return;
    }
  }
  if (!first.said) return;
  steps.doubt =
      Reason{fmt::format("{:.0f} or {:.0f} steps: the kernels repeat {:.0f} times, the program's "
                         "range '{}' {:.0f} times; say which with --steps",
                         numbers.steps, numbers.ranges, numbers.steps, first.name, numbers.ranges)};
}

// Compares the steps with the calls of PyTorch's outermost modules. If each call launched k
// segments of the stream, such as k equal layers, k segments become one step. Returns false if no
// module tells how many segments a step has.
bool DecidedByModules(const Trace& trace, const RangesAround& around, const DeviceWork& work,
                      FoundGpuSteps& found) {
  for (const auto& one : ModulesOf(trace)) {
    const auto numbers = NumbersByCalls(trace, around, work, found.steps, one);
    if (numbers.ranges < static_cast<double>(kLeastSteps)) continue;
    if (numbers.Agree()) {
      found.steps.confirmed = true;
      return true;
    }
    const auto times = numbers.Times();
    if (!times) continue;
    auto joined = found.steps;
    Join(*times, joined);
    if (joined.ranges.size() < 2) continue;
    found.steps = std::move(joined);
    found.steps.from = StepsFrom::kMarks;
    found.range = one.name;
    return true;
  }
  return false;
}

// Doubts steps that are short and follow each other without anything between them: each may be one
// of the equal layers of a longer step.
void DoubtLayers(const DeviceWork& work, Steps& steps) {
  const auto& first = steps.ranges.front();
  if (steps.irregular > 0 || first.end - first.begin > kMostOfLayer) return;
  // A layer neither gets its input from the host nor brings its output there.
  const auto& last = steps.ranges.back();
  for (auto i = work.launch_places[first.begin]; i < work.launch_places[last.end - 1]; ++i)
    if (work.all[i].sort == DeviceTask::Sort::kCopy) return;
  steps.doubt = Reason{
      fmt::format("{} equal segments of {} launches, each of which could follow any other: steps, "
                  "or layers of fewer steps? An NVTX range around each step, or --steps, tells",
                  steps.ranges.size(), first.end - first.begin)};
}

}  // namespace

FoundGpuSteps FindGpuSteps(const Trace& trace, const RangesAround& around, const DeviceWork& work,
                           std::size_t kernels, std::optional<int> count) {
  FoundGpuSteps found;
  if (count) {
    found.steps = FindSteps(work.stream, kernels, count);
    return found;
  }
  const auto marks = MarksOf(trace);
  found.steps = StepsOfGraphs(work, kernels);
  if (found.steps.from == StepsFrom::kNone) found.steps = FindSteps(work.stream, kernels);
  if (found.steps.from != StepsFrom::kNone) {
    if (!marks.empty()) CheckMarks(trace, around, work, marks, found);
    if (marks.empty() && found.steps.from == StepsFrom::kFound && !found.steps.doubt &&
        !DecidedByModules(trace, around, work, found))
      DoubtLayers(work, found.steps);
    return found;
  }
  for (const auto& one : marks) {
    auto steps = FindSteps(work.stream, kernels, static_cast<int>(one.times.size()));
    if (steps.from == StepsFrom::kNone) continue;
    steps.from = StepsFrom::kMarks;
    found = {std::move(steps), one.name};
    break;
  }
  return found;
}

}  // namespace dlroof::programs
