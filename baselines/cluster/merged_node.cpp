#include "baselines/cluster/merged_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "counters/base/order_statistics.h"

namespace dlroof::cluster {
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

void MergeCeiling(const Values& values, machine::Ceiling& ceiling) {
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

bool CountTheSame(const energy::Energy& a, const energy::Energy& b) {
  const auto names_equal = [](const auto& x, const auto& y) { return x.first == y.first; };
  return a.from == b.from && a.covers == b.covers &&
         std::ranges::equal(a.domains, b.domains, names_equal) &&
         std::ranges::equal(a.beside, b.beside, names_equal);
}

}  // namespace

void MergeMachine(const std::vector<const NodeSummary*>& nodes, machine::Machine& machine) {
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

std::optional<energy::Energy> MergedEnergy(const std::vector<energy::Energy>& nodes) {
  if (nodes.empty()) return std::nullopt;
  const energy::Energy& first = nodes.front();
  if (!std::ranges::all_of(nodes, [&](const energy::Energy& one) { return CountTheSame(first, one); }))
    return std::nullopt;
  const auto values = [&](const std::function<double(const energy::Energy&)>& value) {
    std::vector<double> all;
    std::ranges::transform(nodes, std::back_inserter(all), value);
    return all;
  };
  energy::Energy merged = first;
  const auto joules = values(&energy::Energy::joules);
  merged.joules = Median(joules);
  merged.ci95 = MedianInterval95(joules);
  merged.seconds = Median(values(&energy::Energy::seconds));
  merged.window_seconds = std::ranges::min(values(&energy::Energy::window_seconds));
  merged.calls = Median(values(&energy::Energy::calls));
  for (const auto domains : {&energy::Energy::domains, &energy::Energy::beside})
    for (auto& domain : merged.*domains)
      domain.second =
          Median(values([&](const energy::Energy& one) { return (one.*domains).at(domain.first); }));
  merged.others_cpus.reset();
  for (const energy::Energy& one : nodes)
    if (one.others_cpus)
      merged.others_cpus = std::max(merged.others_cpus.value_or(0), *one.others_cpus);
  return merged;
}

}  // namespace dlroof::cluster
