#include "baselines/cluster/node_effects.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::cluster {
namespace {

constexpr std::size_t kMinRows = 3;  // [1] of a group that is judged by its median

const std::vector<std::size_t>& FirstKind(const Cluster& cluster) {
  static const std::vector<std::size_t> none;
  return cluster.kinds.empty() ? none : cluster.kinds.front().nodes;
}

// Returns the names of the roofs of the most common kind of nodes, sorted.
std::vector<std::string> RoofRows(const Cluster& cluster) {
  std::set<std::string> rows;
  for (const auto node : FirstKind(cluster))
    for (const auto& [row, value] : cluster.nodes[node].roofs) rows.insert(row);
  return {rows.begin(), rows.end()};
}

// Returns the roof's time per FLOP, byte or launch [s]; nullopt if `roofs` lacks it.
std::optional<double> TimeAt(const std::string& roof, const std::map<std::string, double>& roofs) {
  const auto value = FindCopy(roofs, roof);
  return !value || roof.ends_with("launch") ? value : 1 / *value;
}

void AddRoofGroups(const Cluster& cluster, std::vector<RowGroup>& groups) {
  const auto roofs = RoofRows(cluster);
  const std::size_t records = cluster.run.records.size();
  RowGroup ceilings{"ceilings", {}};
  for (std::size_t i = 0; i < roofs.size(); ++i) ceilings.rows.push_back(records + i);
  if (ceilings.rows.size() >= kMinRows) groups.push_back(std::move(ceilings));
  for (std::size_t i = 0; i < roofs.size(); ++i)
    groups.push_back({RoofText(roofs[i]), {records + i}, true});
}

// Returns the times of the first measurement of all nodes. Rows are records, then roofs by name.
VisitTimes FirstVisit(const Cluster& cluster) {
  VisitTimes times(cluster.run.records.size(),
                   std::vector<std::optional<double>>(cluster.nodes.size()));
  EachTime(cluster, [&](auto i, auto node, double seconds) { times[i][node] = seconds; });
  for (const auto& roof : RoofRows(cluster)) {
    auto& row = times.emplace_back(cluster.nodes.size());
    for (const auto node : FirstKind(cluster)) row[node] = TimeAt(roof, cluster.nodes[node].roofs);
  }
  return times;
}

// Returns the times of a re-measurement (`visit`), with the rows and nodes of FirstVisit.
VisitTimes VisitOf(const Cluster& cluster, const std::vector<NodeSummary>& visit) {
  const std::size_t records = cluster.run.records.size();
  const auto roofs = RoofRows(cluster);
  std::map<std::string, std::size_t> record_of, node_of;
  for (std::size_t i = 0; i < records; ++i) record_of[cluster.run.records[i].name] = i;
  for (const auto i : FirstKind(cluster)) node_of[cluster.nodes[i].name()] = i;
  VisitTimes times(records + roofs.size(),
                   std::vector<std::optional<double>>(cluster.nodes.size()));
  for (const auto& summary : visit) {
    const auto node = FindCopy(node_of, summary.facts.name);
    if (!node) continue;
    for (const auto& time : summary.times)
      if (const auto record = FindCopy(record_of, time.name)) times[*record][*node] = time.seconds;
    const auto known = RoofsOf(summary);
    for (std::size_t i = 0; i < roofs.size(); ++i)
      times[records + i][*node] = TimeAt(roofs[i], known);
  }
  return times;
}

using NodeValue = std::pair<std::size_t, double>;

Spread SpreadOf(const std::string& name, const std::vector<NodeValue>& values) {
  const auto low = std::ranges::min_element(values, {}, &NodeValue::second);
  const auto high = std::ranges::max_element(values, {}, &NodeValue::second);
  return {.name = name,
          .median = Median(VectorOf<double>(values, &NodeValue::second)),
          .low = low->second,
          .high = high->second,
          .low_node = low->first,
          .high_node = high->first,
          .nodes = values.size()};
}

std::vector<Spread> RoofSpreads(const Cluster& cluster) {
  std::map<std::string, std::vector<NodeValue>> rows;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i)
    if (cluster.nodes[i].kind == 0)
      for (const auto& [row, value] : cluster.nodes[i].roofs) rows[row].emplace_back(i, value);
  return VectorOf<Spread>(rows, [](const auto& row) { return SpreadOf(row.first, row.second); });
}

// A benchmark's name, and a node's time divided by the median over nodes.
using BenchmarkRatio = std::pair<std::string, double>;

// `ratios`: by node.
std::vector<NodeEffect> EffectsOf(const std::vector<std::vector<BenchmarkRatio>>& ratios) {
  std::vector<NodeEffect> effects;
  for (std::size_t node = 0; node < ratios.size(); ++node) {
    const auto worst = std::ranges::max_element(ratios[node], {}, &BenchmarkRatio::second);
    if (worst == ratios[node].end()) continue;
    effects.push_back({.node = node,
                       .ratio = Median(VectorOf<double>(ratios[node], &BenchmarkRatio::second)),
                       .benchmarks = ratios[node].size(),
                       .worst = worst->first,
                       .worst_ratio = worst->second});
  }
  std::ranges::stable_sort(effects, std::ranges::greater{}, &NodeEffect::ratio);
  return effects;
}

}  // namespace

std::vector<RowGroup> GroupsOf(const Cluster& cluster) {
  const auto placed = roofline::PlaceRun(cluster.run);
  RowGroup all{"all", std::vector<std::size_t>(placed.places.size())};
  std::iota(all.rows.begin(), all.rows.end(), 0);
  std::vector<RowGroup> groups;
  if (!all.rows.empty()) groups.push_back(std::move(all));
  for (const auto& [bound, name] : {std::pair(roofline::Bound::kCompute, "compute"),
                                    {roofline::Bound::kMemory, "memory"},
                                    {roofline::Bound::kOverhead, "launch"}}) {
    RowGroup group{name, {}};
    for (std::size_t i = 0; i < placed.places.size(); ++i) {
      const auto& time = placed.places[i].placement.time;
      if (time && time->bound == bound) group.rows.push_back(i);
    }
    if (group.rows.size() >= kMinRows && group.rows.size() < placed.places.size())
      groups.push_back(std::move(group));
  }
  AddRoofGroups(cluster, groups);
  return groups;
}

Revisit RevisitOf(const Cluster& cluster, std::size_t max_controls) {
  const auto groups = GroupsOf(cluster);
  const auto first = FirstVisit(cluster);
  Revisit revisit{.suspects = SuspectsOf(first, groups, FirstKind(cluster)), .nodes = {}};
  if (revisit.suspects.empty()) return revisit;
  const auto controls =
      ControlsFor(first, groups.front(), FirstKind(cluster), revisit.suspects, max_controls);
  std::set<std::size_t> nodes(controls.begin(), controls.end());
  for (const auto& suspect : revisit.suspects) nodes.insert(suspect.node);
  revisit.nodes.assign(nodes.begin(), nodes.end());
  return revisit;
}

void AddFindings(const std::vector<std::vector<NodeSummary>>& visits, Cluster& cluster) {
  const auto groups = GroupsOf(cluster);
  const auto revisit = RevisitOf(cluster);
  auto controls = revisit.nodes;
  for (const auto& suspect : revisit.suspects) std::erase(controls, suspect.node);
  const auto further =
      VectorOf<VisitTimes>(visits, [&](const auto& visit) { return VisitOf(cluster, visit); });
  cluster.findings = JudgeNodes(revisit.suspects, groups, further, controls);
  for (auto& finding : InterferenceFindings(cluster.nodes, FirstKind(cluster)))
    cluster.findings.push_back(std::move(finding));
}

std::string RoofText(const std::string& row) {
  auto text = row;
  for (const char* part : {".flops.", ".bytes."})
    if (const auto at = text.find(part); at != std::string::npos) text.replace(at, 7, ".");
  return text;
}

NodeEffects MakeNodeEffects(const Cluster& cluster) {
  NodeEffects effects;
  std::vector<std::vector<NodeValue>> values(cluster.run.records.size());
  EachTime(cluster,
           [&](auto i, auto node, double seconds) { values[i].emplace_back(node, seconds); });
  std::vector<std::vector<BenchmarkRatio>> of_node(cluster.nodes.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& name = cluster.run.records[i].name;
    effects.benchmarks.push_back(values[i].empty() ? Spread{.name = name}
                                                   : SpreadOf(name, values[i]));
    auto& ratios = effects.ratios.emplace_back(cluster.nodes.size());
    for (const auto& [node, seconds] : values[i]) {
      ratios[node] = seconds / effects.benchmarks.back().median;
      of_node[node].emplace_back(name, *ratios[node]);
    }
  }
  effects.roofs = RoofSpreads(cluster);
  effects.nodes = EffectsOf(of_node);
  return effects;
}

}  // namespace dlroof::cluster
