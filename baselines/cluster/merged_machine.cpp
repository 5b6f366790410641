#include "baselines/cluster/merged_machine.h"

#include <fmt/format.h>

#include "counters/base/order_statistics.h"

namespace dlroof {
namespace {

struct Values {
  std::vector<double> all, proved;
};

Values ValuesOf(const std::vector<const NodeSummary*>& nodes, const CeilingRow& row) {
  Values values;
  for (const auto* node : nodes) {
    const auto found = node->ceilings.find(row);
    if (found == node->ceilings.end()) continue;
    values.all.push_back(found->second.value);
    if (found->second.proved) values.proved.push_back(found->second.value);
  }
  return values;
}

void MergeCeiling(const Values& values, Ceiling& ceiling) {
  if (values.all.empty()) return;
  const bool proved = 2 * values.proved.size() >= values.all.size();
  const auto& used = proved ? values.proved : values.all;
  ceiling.per_second = Median(used);
  ceiling.ci95 = MedianInterval95(used);
  ceiling.sustained_per_second.reset();
  ceiling.clock_hz.reset();
  ceiling.proof = {};
  ceiling.proved = proved && !ceiling.given;
  ceiling.reasons.clear();
  if (!proved && !ceiling.given)
    ceiling.reasons.push_back(
        fmt::format("proved on {} of {} nodes", values.proved.size(), values.all.size()));
  ceiling.how += fmt::format("; median of {} node{}", used.size(), used.size() == 1 ? "" : "s");
}

}  // namespace

void MergeMachine(const std::vector<const NodeSummary*>& nodes, Machine& machine) {
  for (auto& [threads, set] : machine.by_threads) {
    for (auto& [pipe, ceiling] : set.flops)
      MergeCeiling(ValuesOf(nodes, {machine.device, threads, "flops." + pipe}), ceiling);
    for (auto& [level, ceiling] : set.bytes)
      MergeCeiling(ValuesOf(nodes, {machine.device, threads, fmt::format("bytes.{}", Key(level))}),
                   ceiling);
    if (set.launch_seconds) {
      const auto values = ValuesOf(nodes, {machine.device, threads, "launch"});
      if (!values.all.empty()) set.launch_seconds = Median(values.all);
    }
    set.mixes.clear();
    set.sweep.clear();
    set.ridges.clear();
    set.sustained.clear();
    set.edges.clear();
    set.best_state = {};
  }
  machine.facts["cluster.nodes"] = std::to_string(nodes.size());
}

}  // namespace dlroof
