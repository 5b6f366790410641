#include "baselines/programs/gpu_ranges.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <string_view>

namespace dlroof::programs {
namespace {

using gpu_trace::Trace;

constexpr auto kNone = RangesAround::kNone;
constexpr std::size_t kMostDepth = 64;  // [1] ranges around each other; deeper ones are left out

// What happens on a thread: a range begins, or CUDA is called.
struct Event {
  std::uint32_t thread;
  std::int64_t at_ns;
  bool is_call;
  std::uint32_t index;  // of Trace::ranges or Trace::calls
};

void SortEvents(const Trace& trace, std::vector<Event>& events) {
  // Of ranges that begin at the same time the longer one is around the other.
  std::ranges::sort(events, [&](const Event& a, const Event& b) {
    if (a.thread != b.thread) return a.thread < b.thread;
    if (a.at_ns != b.at_ns) return a.at_ns < b.at_ns;
    if (a.is_call != b.is_call) return b.is_call;
    if (a.is_call) return a.index < b.index;
    const auto end_a = trace.ranges[a.index].time.end_ns;
    const auto end_b = trace.ranges[b.index].time.end_ns;
    return end_a != end_b ? end_a > end_b : a.index < b.index;
  });
}

// A range by its path: all ranges of one name within ranges of one path.
struct Node {
  std::uint32_t parent = kNone;
  GpuRangeWork work;
  std::map<std::uint32_t, double> kernels;  // [s] by row of the kernels' table
  std::vector<std::uint32_t> inner;         // nodes within it
};

class RangeTree {
 public:
  RangeTree(const Trace& trace, const RangesAround& around, const DeviceWork& work)
      : trace_(trace),
        work_(work),
        around_(around),
        node_of_(trace.ranges.size(), kNone),
        seen_(trace.ranges.size()) {}

  void Add(std::size_t launch, double weight) {
    const auto& task = work_.Launch(launch);
    const double seconds = weight * Seconds(task.time.end_ns - task.time.begin_ns);
    auto range = around_.OfLaunch(task.launch);
    if (range == kNone) {
      outside_.launches += weight;
      outside_.seconds += seconds;
      return;
    }
    nodes_[NodeOf(range)].kernels[task.index] += seconds;
    for (; range != kNone; range = around_.OfRange(range)) {
      auto& node = nodes_[NodeOf(range)];
      node.work.launches += weight;
      node.work.seconds += seconds;
      if (!seen_[range]) node.work.ranges += weight;
      seen_[range] = true;
    }
  }

  std::vector<GpuRangeWork> Rows(const std::vector<GpuKernelUse>& kernels) {
    std::vector<GpuRangeWork> rows;
    if (nodes_.empty()) return rows;
    // A node's kernels are those of the nodes within it, too, whose numbers are higher.
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      auto& node = nodes_[i];
      const auto* longest = LongestOf(node);
      if (longest != nullptr) node.work.kernel = kernels[longest->first].name;
      if (node.parent == kNone) continue;
      for (const auto& [kernel, seconds] : node.kernels)
        nodes_[node.parent].kernels[kernel] += seconds;
    }
    SetInner();
    for (const auto one : outermost_) Append(one, 0, rows);
    if (outside_.launches > 0) rows.push_back(outside_);
    return rows;
  }

 private:
  static const std::pair<const std::uint32_t, double>* LongestOf(const Node& node) {
    const std::pair<const std::uint32_t, double>* longest = nullptr;
    for (const auto& one : node.kernels)
      if (longest == nullptr || one.second > longest->second) longest = &one;
    return longest;
  }

  std::uint32_t NodeOf(std::uint32_t range) {
    if (node_of_[range] != kNone) return node_of_[range];
    const auto outer = around_.OfRange(range);
    const auto parent = outer == kNone ? kNone : NodeOf(outer);
    auto name = RangeName(trace_.texts[trace_.ranges[range].name]);
    const auto [found, added] =
        numbers_.try_emplace({parent, name}, static_cast<std::uint32_t>(nodes_.size()));
    if (added) {
      nodes_.push_back({.parent = parent});
      nodes_.back().work.name = std::move(name);
    }
    return node_of_[range] = found->second;
  }

  // Links the nodes with most time, the longest first. A node has at least the time of each within
  // it, and comes before it.
  void SetInner() {
    std::vector<std::uint32_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::uint32_t i) { return nodes_[i].work.seconds; });
    if (order.size() > kMostRangeRows) order.resize(kMostRangeRows);
    for (const auto one : order) {
      const auto parent = nodes_[one].parent;
      (parent == kNone ? outermost_ : nodes_[parent].inner).push_back(one);
    }
  }

  void Append(std::uint32_t one, int depth, std::vector<GpuRangeWork>& rows) {
    nodes_[one].work.depth = depth;
    rows.push_back(nodes_[one].work);
    for (const auto inner : nodes_[one].inner) Append(inner, depth + 1, rows);
  }

  const Trace& trace_;
  const DeviceWork& work_;
  const RangesAround& around_;
  std::vector<std::uint32_t> node_of_;  // by range; kNone: not looked up
  std::vector<bool> seen_;              // by range: counted
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> outermost_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> numbers_;
  GpuRangeWork outside_;
};

// Removes ", KEY = NUMBER".
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
  SortEvents(trace, events);
  std::vector<std::uint32_t> open;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto& event = events[i];
    if (i > 0 && events[i - 1].thread != event.thread) open.clear();
    // Ranges that are not nested may end in any order.
    std::erase_if(
        open, [&](std::uint32_t range) { return trace.ranges[range].time.end_ns <= event.at_ns; });
    auto& inner = event.is_call ? of_call_[event.index] : of_range_[event.index];
    if (!open.empty()) inner = open.back();
    if (!event.is_call && open.size() < kMostDepth) open.push_back(event.index);
  }
}

std::uint32_t RangesAround::OfLaunch(std::size_t launch) const {
  const auto number = trace_.launches[launch].correlation;
  const auto call =
      std::ranges::lower_bound(trace_.calls, number, {}, &gpu_trace::Call::correlation);
  if (call == trace_.calls.end() || call->correlation != number) return kNone;
  return of_call_[static_cast<std::size_t>(call - trace_.calls.begin())];
}

bool NamesStep(const std::string& name) {
  auto lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower.find("step") != std::string::npos || lower.find("iter") != std::string::npos;
}

std::string RangeName(const std::string& name) {
  std::string result = name;
  RemoveNumber(", seq = ", result);
  RemoveNumber(", op_id = ", result);
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

std::vector<GpuRangeWork> RangeWorkOf(const Trace& trace, const RangesAround& around,
                                      const DeviceWork& work,
                                      const std::vector<GpuKernelUse>& kernels,
                                      std::span<const LaunchRange> steps) {
  if (trace.calls.empty() || trace.ranges.empty() || steps.empty()) return {};
  RangeTree tree(trace, around, work);
  const double weight = 1 / static_cast<double>(steps.size());
  for (const auto& [begin, end] : steps)
    for (std::size_t i = begin; i < end; ++i) tree.Add(i, weight);
  return tree.Rows(kernels);
}

}  // namespace dlroof::programs
