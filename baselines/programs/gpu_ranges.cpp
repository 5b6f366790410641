#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "baselines/programs/gpu_timeline.h"
#include "baselines/programs/program_summary.h"
#include "counters/base/keys.h"

namespace dlroof::programs {
namespace {

using gpu_trace::Trace;

constexpr auto kNone = RangesAround::kNone;
constexpr std::string_view kSequenceNumber = ", seq = ", kOperatorNumber = ", op_id = ";
constexpr std::size_t kMaxDepth = 64;  // [1] nested ranges; deeper ranges are ignored

// An event on a thread: a range begins, or a CUDA function is called.
struct Event {
  std::uint32_t thread;
  std::int64_t at_ns;
  bool is_call;
  std::uint32_t index;  // into Trace::ranges or Trace::calls
};

enum class Sort { kOther, kModule, kOperator, kEngine };

struct RangeFacts {
  Sort sort = Sort::kOther;
  bool backward = false;  // an operator of a backward pass
  // PyTorch's "seq": equal for a forward operator and the operator that computes its gradients.
  std::optional<std::uint64_t> sequence;
};

std::optional<std::uint64_t> NumberAfter(std::string_view key, const std::string& name) {
  const auto at = name.find(key);
  if (at == std::string::npos) return std::nullopt;
  std::uint64_t number = 0;
  const char* begin = name.data() + at + key.size();
  const auto read = std::from_chars(begin, name.data() + name.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// Parses the names of PyTorch's emit_nvtx: "aten::conv2d, seq = 2, op_id = 7",
// "ConvolutionBackward0, seq = 2, op_id = 61" within "autograd::engine::evaluate_function: ...".
RangeFacts FactsOf(const std::string& name) {
  if (name.starts_with(kModuleSpan)) return {.sort = Sort::kModule};
  if (!IsOperatorRange(name)) return {};
  if (name.starts_with("autograd::engine")) return {.sort = Sort::kEngine};
  return {Sort::kOperator, name.find("Backward") != std::string::npos,
          NumberAfter(kSequenceNumber, name)};
}

// A row of the result: all ranges with the same name that are in ranges of the same outer row.
struct Node {
  std::uint32_t parent = kNone;
  Sort sort = Sort::kOther;
  GpuRangeWork work = {};
  std::map<std::uint32_t, double> kernels = {};  // [s] by index into GpuTimeline::kernels
  std::vector<std::uint32_t> inner = {};         // nodes within it
};

class RangeTree {
 public:
  RangeTree(const Trace& trace, const RangesAround& around, const DeviceWork& work)
      : trace_(trace),
        work_(work),
        around_(around),
        node_of_(trace.ranges.size(), kNone),
        counts_(trace.ranges.size()),
        seen_(trace.ranges.size()) {
    for (std::uint32_t i = 0; i < trace.ranges.size(); ++i) {
      const auto facts = FactsOf(NameOf(i));
      if (facts.sequence && !facts.backward && ModuleAround(i) != kNone)
        forward_[*facts.sequence].push_back(i);  // in the order of their begins
    }
  }

  void Add(std::size_t launch, double weight) {
    const auto& task = work_.Launch(launch);
    const double seconds = weight * Seconds(task.time);
    auto range = around_.OfLaunch(task.launch);
    if (range == kNone) {
      outside_.launches += weight;
      outside_.seconds += seconds;
      return;
    }
    const auto innermost = NodeOf(range);
    nodes_[innermost].kernels[task.index] += seconds;
    for (auto node = innermost; node != kNone; node = nodes_[node].parent) {
      nodes_[node].work.launches += weight;
      nodes_[node].work.seconds += seconds;
    }
    for (; range != kNone && !seen_[range]; range = around_.OfRange(range)) {
      seen_[range] = true;
      const auto node = NodeOf(range);
      if (counts_[range]) nodes_[node].work.ranges += weight;
    }
  }

  std::vector<GpuRangeWork> Rows(const std::vector<GpuKernelUse>& kernels) {
    std::vector<GpuRangeWork> rows;
    if (nodes_.empty()) return rows;
    // Adds the kernels of inner nodes (which have larger indices) to their outer nodes.
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      auto& node = nodes_[i];
      const auto longest = std::ranges::max_element(
          node.kernels, {}, [](const auto& kernel) { return kernel.second; });
      if (longest != node.kernels.end()) node.work.kernel = kernels[longest->first].name;
      if (node.parent == kNone) continue;
      for (const auto& [kernel, seconds] : node.kernels)
        nodes_[node.parent].kernels[kernel] += seconds;
    }
    SetInner();
    for (const auto node : outermost_) Append(node, 0, rows);
    if (outside_.launches > 0) rows.push_back(outside_);
    return rows;
  }

 private:
  const std::string& NameOf(std::uint32_t range) const {
    return trace_.texts[trace_.ranges[range].name];
  }

  // Returns the innermost module around the range, or kNone.
  std::uint32_t ModuleAround(std::uint32_t range) const {
    for (range = around_.OfRange(range); range != kNone; range = around_.OfRange(range))
      if (NameOf(range).starts_with(kModuleSpan)) return range;
    return kNone;
  }

  // Returns the tree's node for the kernels launched in this range; makes it if it is new. A module
  // has a node of its own, and so has a range of the program that is not in an operator. The
  // autograd engine's ranges share a node "backward"; in it, a backward operator counts for the
  // modules around its forward operator. Other operators have a node only if they are in no module,
  // operator or "backward". All other ranges count for the node of the range around them.
  std::uint32_t NodeOf(std::uint32_t range) {
    if (node_of_[range] == kNone) {
      const auto outer = around_.OfRange(range);
      node_of_[range] = NewNodeOf(range, outer == kNone ? kNone : NodeOf(outer));
    }
    return node_of_[range];
  }

  std::uint32_t NewNodeOf(std::uint32_t range, std::uint32_t parent) {
    const auto& name = NameOf(range);
    const auto facts = FactsOf(name);
    counts_[range] = true;
    if (facts.sort == Sort::kModule) return Within(parent, ModulePath(name), Sort::kModule);
    if (facts.sort == Sort::kOther && !IsInOperator(range))
      return Within(parent, RangeName(name), Sort::kOther);
    if (facts.backward && facts.sequence)
      if (const auto forward = ForwardOf(*facts.sequence, trace_.ranges[range].time.begin_ns);
          forward != kNone)
        return WithinModules(forward, BackwardIn(parent));
    const bool alone = parent == kNone || nodes_[parent].sort == Sort::kOther;
    counts_[range] = alone && facts.sort == Sort::kOperator;
    if (facts.sort == Sort::kOther) return parent;  // range of a library called by the operator
    if (facts.sort == Sort::kEngine) return BackwardIn(parent);
    return alone ? Within(parent, RangeName(name), Sort::kOperator) : parent;
  }

  // Returns whether the range is in an operator, without a module between them.
  bool IsInOperator(std::uint32_t range) const {
    for (auto outer = around_.OfRange(range); outer != kNone; outer = around_.OfRange(outer)) {
      const auto sort = FactsOf(NameOf(outer)).sort;
      if (sort != Sort::kOther) return sort != Sort::kModule;
    }
    return false;
  }

  std::uint32_t BackwardIn(std::uint32_t parent) {
    if (parent != kNone && nodes_[parent].sort == Sort::kEngine) return parent;
    return Within(parent, "backward", Sort::kEngine);
  }

  // Returns the last forward operator with this number that began by `at_ns`, or kNone.
  std::uint32_t ForwardOf(std::uint64_t sequence, std::int64_t at_ns) const {
    const auto* ranges = FindValue(forward_, sequence);
    if (ranges == nullptr) return kNone;
    const auto after = std::ranges::upper_bound(*ranges, at_ns, {}, [&](std::uint32_t range) {
      return trace_.ranges[range].time.begin_ns;
    });
    return after == ranges->begin() ? kNone : *std::prev(after);
  }

  // Returns the node of the modules around `range`, nested in `node` with the outermost first.
  std::uint32_t WithinModules(std::uint32_t range, std::uint32_t node) {
    std::vector<std::uint32_t> modules;
    for (auto module = ModuleAround(range); module != kNone; module = ModuleAround(module))
      modules.push_back(module);
    for (std::size_t i = modules.size(); i-- > 0;)
      node = Within(node, ModulePath(NameOf(modules[i])), Sort::kModule);
    return node;
  }

  std::uint32_t Within(std::uint32_t parent, const std::string& name, Sort sort) {
    const auto [found, added] =
        numbers_.try_emplace({parent, name}, static_cast<std::uint32_t>(nodes_.size()));
    if (added) {
      nodes_.push_back({.parent = parent, .sort = sort});
      nodes_.back().work.name = name;
    }
    return found->second;
  }

  // Links the kMaxRangeRows nodes with the most time to their parents, the longest first. A parent
  // has at least the time of its inner nodes, so it is among them.
  void SetInner() {
    std::vector<std::uint32_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::uint32_t i) { return nodes_[i].work.seconds; });
    if (order.size() > kMaxRangeRows) order.resize(kMaxRangeRows);
    for (const auto node : order) {
      const auto parent = nodes_[node].parent;
      (parent == kNone ? outermost_ : nodes_[parent].inner).push_back(node);
    }
  }

  void Append(std::uint32_t node, int depth, std::vector<GpuRangeWork>& rows) {
    nodes_[node].work.depth = depth;
    rows.push_back(nodes_[node].work);
    for (const auto inner : nodes_[node].inner) Append(inner, depth + 1, rows);
  }

  const Trace& trace_;
  const DeviceWork& work_;
  const RangesAround& around_;
  std::vector<std::uint32_t> node_of_;  // by range; kNone: not looked up yet
  std::vector<bool> counts_;            // by range: whether GpuRangeWork::ranges counts it
  std::vector<bool> seen_;              // by range: already counted
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> outermost_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> numbers_;
  // Forward operators (ranges in a module) by sequence number.
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> forward_;
  GpuRangeWork outside_;
};

// Removes `key` and the number after it.
void RemoveNumber(std::string_view key, std::string& name) {
  const auto at = name.find(key);
  if (at == std::string::npos) return;
  auto end = at + key.size();
  while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end])) != 0) ++end;
  if (end > at + key.size()) name.erase(at, end - at);
}

}  // namespace

RangesAround::RangesAround(const Trace& trace)
    : trace_(trace), of_range_(trace.ranges.size(), kNone), of_call_(trace.calls.size(), kNone) {
  std::vector<Event> events;
  events.reserve(trace.ranges.size() + trace.calls.size());
  for (std::uint32_t i = 0; i < trace.ranges.size(); ++i)
    events.push_back({trace.ranges[i].thread, trace.ranges[i].time.begin_ns, false, i});
  for (std::uint32_t i = 0; i < trace.calls.size(); ++i)
    events.push_back({trace.calls[i].thread, trace.calls[i].begin_ns, true, i});
  // If two ranges begin at the same time, the longer range encloses the other.
  std::ranges::sort(events, {}, [&](const Event& event) {
    const auto end_ns = event.is_call ? 0 : trace.ranges[event.index].time.end_ns;
    return std::tuple(event.thread, event.at_ns, event.is_call, -end_ns, event.index);
  });
  std::vector<std::uint32_t> open;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto& event = events[i];
    if (i > 0 && events[i - 1].thread != event.thread) open.clear();
    // Removes all ended ranges: ranges need not be nested and may end in any order.
    std::erase_if(
        open, [&](std::uint32_t range) { return trace.ranges[range].time.end_ns <= event.at_ns; });
    auto& inner = event.is_call ? of_call_[event.index] : of_range_[event.index];
    if (!open.empty()) inner = open.back();
    if (!event.is_call && open.size() < kMaxDepth) open.push_back(event.index);
  }
}

std::uint32_t RangesAround::CallOf(std::size_t launch) const {
  const auto number = trace_.launches[launch].correlation;
  const auto call =
      std::ranges::lower_bound(trace_.calls, number, {}, &gpu_trace::Call::correlation);
  if (call == trace_.calls.end() || call->correlation != number) return kNone;
  return static_cast<std::uint32_t>(call - trace_.calls.begin());
}

std::uint32_t RangesAround::OfLaunch(std::size_t launch) const {
  const auto call = CallOf(launch);
  return call == kNone ? kNone : of_call_[call];
}

bool RangesAround::KnowsCalls(const DeviceWork& work) const {
  for (std::size_t i = 0; i < work.stream.size(); ++i)
    if (CallOf(work.Launch(i).launch) != kNone) return true;
  return false;
}

bool IsOperatorRange(const std::string& name) {
  return NumberAfter(kOperatorNumber, name).has_value();
}

std::string RangeName(const std::string& name) {
  std::string result = name;
  RemoveNumber(kSequenceNumber, result);
  RemoveNumber(kOperatorNumber, result);
  if (!NamesStep(result)) return result;
  std::string text;
  for (const char c : result) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit)
      text += c;
    else if (!text.ends_with('*'))
      text += '*';
  }
  return text;
}

void SetRangeWork(const Trace& trace, const RangesAround& around, const DeviceWork& work,
                  std::vector<StepRange> steps, GpuTimeline& timeline) {
  if (trace.calls.empty() || trace.ranges.empty()) return;
  std::erase_if(steps, [&](const StepRange& step) {  // steps without a launch in a range
    return std::ranges::all_of(std::views::iota(step.begin, step.end), [&](std::size_t i) {
      return around.OfLaunch(work.Launch(i).launch) == kNone;
    });
  });
  RangeTree tree(trace, around, work);
  for (const auto& step : steps)
    for (std::size_t i = step.begin; i < step.end; ++i)
      tree.Add(i, 1 / static_cast<double>(steps.size()));
  timeline.range_work = tree.Rows(timeline.kernels);
  timeline.range_steps = static_cast<int>(steps.size());
}

}  // namespace dlroof::programs
