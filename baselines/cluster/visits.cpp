#include "baselines/cluster/visits.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "reporters/roofline/placed_run.h"

namespace dlroof {
namespace {

constexpr std::size_t kLeastBenchmarks = 3;  // of a group: a median of two is no median

std::string_view GroupOf(Bound bound) {
  if (bound == Bound::kCompute) return "compute";
  return bound == Bound::kMemory ? "memory" : "launch";
}

const std::vector<std::size_t>& FirstKind(const Cluster& cluster) {
  static const std::vector<std::size_t> none;
  return cluster.kinds.empty() ? none : cluster.kinds.front().nodes;
}

}  // namespace

std::vector<BenchmarkGroup> GroupsOf(const Cluster& cluster) {
  const auto placed = PlaceRun(cluster.run);
  BenchmarkGroup all{"all", std::vector<std::size_t>(placed.places.size())};
  std::iota(all.benchmarks.begin(), all.benchmarks.end(), 0);
  std::vector<BenchmarkGroup> groups;
  if (!all.benchmarks.empty()) groups.push_back(std::move(all));
  for (const auto bound : {Bound::kCompute, Bound::kMemory, Bound::kOverhead}) {
    BenchmarkGroup group{std::string(GroupOf(bound)), {}};
    for (std::size_t i = 0; i < placed.places.size(); ++i) {
      const auto& time = placed.places[i].placement.time;
      if (time && time->bound == bound) group.benchmarks.push_back(i);
    }
    // A group of everything says what "all" does.
    if (group.benchmarks.size() >= kLeastBenchmarks &&
        group.benchmarks.size() < placed.places.size())
      groups.push_back(std::move(group));
  }
  return groups;
}

VisitTimes FirstVisit(const Cluster& cluster) {
  VisitTimes times;
  for (std::size_t i = 0; i < cluster.run.records.size(); ++i) {
    auto& row = times.emplace_back(cluster.nodes.size());
    for (std::size_t j = 0; j < cluster.nodes_of[i].size(); ++j)
      row[cluster.nodes_of[i][j]] = cluster.run.records[i].repetitions[j].seconds;
  }
  return times;
}

VisitTimes VisitOf(const Cluster& cluster, const std::vector<NodeSummary>& visit) {
  std::map<std::string, std::size_t> record_of, node_of;
  for (std::size_t i = 0; i < cluster.run.records.size(); ++i)
    record_of[cluster.run.records[i].name] = i;
  for (const auto i : FirstKind(cluster)) node_of[cluster.nodes[i].name] = i;
  VisitTimes times(cluster.run.records.size(),
                   std::vector<std::optional<double>>(cluster.nodes.size()));
  for (const auto& summary : visit) {
    const auto node = node_of.find(summary.facts.name);
    if (node == node_of.end()) continue;
    for (const auto& time : summary.times)
      if (const auto record = record_of.find(time.name); record != record_of.end())
        times[record->second][node->second] = time.seconds;
  }
  return times;
}

Revisit RevisitOf(const Cluster& cluster, const OutlierRules& rules) {
  const auto groups = GroupsOf(cluster);
  const auto first = FirstVisit(cluster);
  Revisit revisit{.suspects = SuspectsOf(first, groups, FirstKind(cluster), rules), .nodes = {}};
  revisit.visits = VisitsNeeded(revisit.suspects.size(), rules);
  if (revisit.suspects.empty()) return revisit;
  const auto controls =
      ControlsFor(first, groups.front(), FirstKind(cluster), revisit.suspects, rules);
  std::set<std::size_t> nodes(controls.begin(), controls.end());
  for (const auto& suspect : revisit.suspects) nodes.insert(suspect.node);
  revisit.nodes.assign(nodes.begin(), nodes.end());
  return revisit;
}

void AddFindings(const std::vector<std::vector<NodeSummary>>& visits, const OutlierRules& rules,
                 Cluster& cluster) {
  const auto groups = GroupsOf(cluster);
  const auto revisit = RevisitOf(cluster, rules);
  std::set<std::size_t> suspects;
  for (const auto& suspect : revisit.suspects) suspects.insert(suspect.node);
  std::vector<std::size_t> controls;
  for (const auto node : revisit.nodes)
    if (!suspects.contains(node)) controls.push_back(node);
  std::vector<VisitTimes> further;
  for (const auto& visit : visits) further.push_back(VisitOf(cluster, visit));
  cluster.findings = JudgeNodes(revisit.suspects, groups, further, controls, rules);
}

}  // namespace dlroof
