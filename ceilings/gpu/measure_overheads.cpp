#include <fmt/format.h>

#include <exception>

#include "ceilings/gpu/measure_session.h"

namespace dlroof::gpu_ceilings {
namespace {

constexpr double kTolerance = 0.05;  // the host takes part
constexpr const char* kLaunchName = "launch";

struct OverheadRow {
  GpuOverhead kind;
  const char* name;
  const char* text;
};
constexpr OverheadRow kOverheads[] = {
    {GpuOverhead::kLaunch, kLaunchName,
     "empty kernels one after another, from the first to the wait for the last"},
    {GpuOverhead::kLaunchSync, "launch-sync", "an empty kernel and the wait for it"},
    {GpuOverhead::kGraphNode, "graph-node", "empty kernels as the nodes of one graph"},
    {GpuOverhead::kGraphLaunchSync, "graph-launch-sync",
     "a graph of one empty kernel and the wait for it"},
    {GpuOverhead::kEvents, "events", "what two events with nothing between them measure"},
    {GpuOverhead::kSync, "sync", "the wait for an idle stream"},
};

machine::Rate MeasureOverhead(GpuSession& session, GpuOverhead kind) {
  auto policy = session.effort.Policy(kTolerance, session.now);
  policy.max_seconds = session.effort.row_seconds;
  return machine::MeasureRate(
      [&](std::int64_t times) {
        return machine::TeamTime{session.bench.Overhead(kind, times), 0.0, std::nullopt};
      },
      policy);
}

void AddOverhead(const OverheadRow& row, const machine::Rate& rate, machine::Machine& machine) {
  auto& set = machine.by_threads[1];
  if (!rate.proved) {
    set.absent[row.name] = rate.reason;
    return;
  }
  const double seconds = 1 / rate.per_second;
  if (row.name == std::string(kLaunchName))
    set.launch_seconds = seconds;
  else
    set.overheads[row.name] = seconds;
  set.costs_how[row.name] =
      fmt::format("{}; best of {} repetitions, twice as many took {:.3f} times the time", row.text,
                  rate.total, rate.doubling.value_or(0));
}

}  // namespace

void MeasureGpuOverheads(GpuSession& session, machine::Machine& machine) {
  for (const auto& row : kOverheads) {
    if (session.options.progress) session.options.progress(row.name);
    try {
      AddOverhead(row, MeasureOverhead(session, row.kind), machine);
    } catch (const std::exception& why) {
      machine.by_threads[1].absent[row.name] = fmt::format("it failed: {}", why.what());
    }
  }
}

}  // namespace dlroof::gpu_ceilings
