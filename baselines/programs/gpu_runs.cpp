// Combines several runs of one program: with its GPU work traced, with the nodes of CUDA graphs
// traced, and with CUDA calls only.
#include <algorithm>
#include <cmath>

#include "baselines/programs/gpu_device_work.h"
#include "counters/base/numbers.h"

namespace dlroof::programs {
namespace {

using gpu_trace::Call;
using gpu_trace::Trace;

// Returns the begins [ns] of all calls, in order.
std::vector<std::int64_t> BeginsOf(const Trace& trace) {
  std::vector<std::int64_t> begins;
  begins.reserve(trace.calls.size());
  for (const auto& call : trace.calls) begins.push_back(call.begin_ns);
  std::ranges::sort(begins);
  return begins;
}

double BusySeconds(const GpuTimes& times) {
  return times.kernel_seconds + times.copy_seconds + times.fill_seconds;
}

}  // namespace

void AddPace(const Trace& traced, const Trace& untraced, GpuTimeline& timeline) {
  const auto with = BeginsOf(traced), without = BeginsOf(untraced);
  // Returns the number of calls from the call `number` to the end; 0 if it was not recorded.
  const auto to_end = [&](std::uint32_t number) -> std::size_t {
    const auto call = std::ranges::lower_bound(traced.calls, number, {}, &Call::correlation);
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
