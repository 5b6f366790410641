#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <set>

#include "baselines/cluster/cluster_file.h"
#include "counters/base/keys.h"
#include "reporters/document/document.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::cluster {
namespace {

using document::Table;

constexpr std::size_t kMaxRows = 20;  // rows of a table in a terminal without --verbose
constexpr double kMinSteal = 0.005;   // [1] smaller steal shares are not shown

std::string Percent(double ratio) { return fmt::format("{:+.1f} %", 100 * (ratio - 1)); }

std::string ValueText(const std::string& row, double value) {
  if (row.ends_with("launch")) return text::WithPrefix(value, "s");
  return text::WithPrefix(value, row.find(".bytes.") != std::string::npos ? "B/s" : "FLOP/s");
}

Table RoofTable(const Cluster& cluster, const NodeEffects& effects) {
  Table table{.title = "Roofs over nodes",
              .columns = {"roof", "nodes", "median", "lowest", "of node", "highest", "of node"}};
  for (const auto& roof : effects.roofs)
    table.rows.push_back({RoofText(roof.name), std::to_string(roof.nodes),
                          ValueText(roof.name, roof.median), Percent(roof.low / roof.median),
                          cluster.nodes[roof.low_node].name(), Percent(roof.high / roof.median),
                          cluster.nodes[roof.high_node].name()});
  return table;
}

// Returns e.g. "3 of 4", or "" if no node's time is an estimate.
std::string EstimatesText(const EstimateCount& count) {
  return count.estimates > 0 ? fmt::format("{} of {}", count.estimates, count.times) : "";
}

Table BenchmarkTable(const Cluster& cluster, const NodeEffects& effects) {
  std::vector<const Spread*> spreads;
  for (const auto& spread : effects.benchmarks)
    if (spread.nodes > 0) spreads.push_back(&spread);
  std::ranges::stable_sort(spreads, std::ranges::greater{},
                           [](const auto* spread) { return spread->high / spread->median; });
  const bool estimates = EstimatesOf(cluster).estimates > 0;
  Table table{
      .title = "Benchmarks, the largest spread first",
      .columns = {"benchmark", "nodes", "median", "fastest", "of node", "slowest", "of node"}};
  if (estimates) table.columns.emplace_back("estimates");
  for (const auto* spread : spreads) {
    auto& row = table.rows.emplace_back(Table::Row{
        spread->name, std::to_string(spread->nodes), text::WithPrefix(spread->median, "s"),
        Percent(spread->low / spread->median), cluster.nodes[spread->low_node].name(),
        Percent(spread->high / spread->median), cluster.nodes[spread->high_node].name()});
    const auto record = static_cast<std::size_t>(spread - effects.benchmarks.data());
    if (estimates) row.emplace_back(EstimatesText(EstimatesOf(cluster, record)));
  }
  return table;
}

Table NodeTable(const Cluster& cluster, const NodeEffects& effects) {
  Table table{.title = "Nodes, the slowest first",
              .columns = {"node", "status", "CPUs", "benchmarks", "slower by", "most for", "by"}};
  for (const auto& effect : effects.nodes) {
    const auto& node = cluster.nodes[effect.node];
    const auto& facts = node.facts;
    table.rows.push_back({node.name(), std::string(Key(node.status)),
                          facts.cpus_specified && facts.cpus
                              ? fmt::format("{} of {}", *facts.cpus_specified, *facts.cpus)
                              : "",
                          std::to_string(effect.benchmarks), Percent(effect.ratio), effect.worst,
                          Percent(effect.worst_ratio)});
  }
  return table;
}

Table InterferenceTable(const Cluster& cluster) {
  Table table{.title = "Interference on nodes",
              .columns = {"node", "noisy repetitions", "all over clean time", "steal",
                          "quota [CPUs]", "throttled"}};
  std::vector<const ClusterNode*> nodes;
  for (const auto& node : cluster.nodes)
    if (node.interference.noisy > 0 || node.facts.load.quota_cpus ||
        node.facts.load.steal_share.value_or(0) >= kMinSteal)
      nodes.push_back(&node);
  std::ranges::stable_sort(nodes, std::ranges::greater{},
                           [](const ClusterNode* node) { return node->interference.NoisyShare(); });
  for (const auto* node : nodes) {
    const auto& load = node->facts.load;
    const auto& seen = node->interference;
    table.rows.push_back(
        {node->name(), seen.repetitions > 0 ? fmt::format("{:.0f} %", 100 * seen.NoisyShare()) : "",
         seen.wall_over_clean ? fmt::format("{:.2f}", *seen.wall_over_clean) : "",
         load.steal_share ? fmt::format("{:.1f} %", 100 * *load.steal_share) : "",
         load.quota_cpus ? fmt::format("{:g}", *load.quota_cpus) : "",
         load.periods && load.throttled
             ? fmt::format("{:.0f} of {:.0f}", *load.throttled, *load.periods)
             : ""});
  }
  return table;
}

Table FindingTable(const Cluster& cluster) {
  Table table{.title = "Suspects and slow nodes",
              .columns = {"node", "slow at", "verdict", "slower by", "visits"}};
  for (const auto& finding : cluster.findings)
    table.rows.push_back({cluster.nodes[finding.node].name(), finding.what,
                          std::string(Key(finding.verdict)), Percent(finding.ratio),
                          finding.visits > 0 ? fmt::format("1 + {}", finding.visits) : "1"});
  return table;
}

std::string FindingsText(const Cluster& cluster) {
  const auto is_of_times = [](const Finding& finding) {
    return finding.verdict != NodeVerdict::kLimited && finding.verdict != NodeVerdict::kDisturbed;
  };
  if (cluster.kinds.empty() || cluster.kinds.front().nodes.size() < kMinJudgedNodes)
    return fmt::format("fewer than {} nodes of a kind are too few to tell which one is slow",
                       kMinJudgedNodes);
  if (std::ranges::none_of(cluster.findings, is_of_times))
    return fmt::format(
        "no node is more than {:g} % slower than the median node in most of its benchmarks",
        100 * kSlowEffect);
  if (std::ranges::count(cluster.findings, NodeVerdict::kSuspect, &Finding::verdict) > 0)
    return "a suspect was slow in one visit, which may be chance: `dlroof cluster script --revisit "
           "FILE` visits suspects again";
  return fmt::format(
      "slow: by more than {:g} % in the median of its further visits; not confirmed: not so slow",
      100 * kSlowEffect);
}

// Returns e.g. "64 nodes" or "16 GPUs of 2 nodes".
std::string CountText(const Cluster& cluster) {
  std::set<std::string> hosts;
  for (const auto& node : cluster.nodes) hosts.insert(HostOf(node));
  if (!GpusOfHosts(cluster)) return fmt::format("{} nodes", cluster.nodes.size());
  return fmt::format("{} GPUs of {} node{}", cluster.nodes.size(), hosts.size(),
                     hosts.size() == 1 ? "" : "s");
}

std::vector<std::string> Notes(const Cluster& cluster, const NodeEffects& effects) {
  std::map<NodeStatus, std::size_t> counts;
  for (const auto& node : cluster.nodes) ++counts[node.status];
  std::vector<std::string> notes = {
      fmt::format("{}: {} whole, {} partial, {} missing, {} failed", CountText(cluster),
                  counts[NodeStatus::kComplete], counts[NodeStatus::kPartial],
                  counts[NodeStatus::kMissing], counts[NodeStatus::kFailed])};
  for (std::size_t i = 0; i < cluster.kinds.size(); ++i)
    notes.push_back(fmt::format(
        "{} {}{} of {}{}", cluster.kinds[i].nodes.size(), GpusOfHosts(cluster) ? "GPU" : "node",
        cluster.kinds[i].nodes.size() == 1 ? "" : "s",
        cluster.kinds[i].name.empty() ? "an unknown machine" : cluster.kinds[i].name,
        i == 0 ? ": medians and ratios are over these" : ""));
  for (const auto& node : cluster.nodes)
    if (node.status != NodeStatus::kComplete)
      notes.push_back(fmt::format("{}: {}: {}", node.name(), Key(node.status), node.reason));
  for (const auto& node : cluster.nodes)
    if (!node.untimed.empty())
      notes.push_back(fmt::format("{}: {} benchmark{} without a time, such as {}: {}", node.name(),
                                  node.untimed.size(), node.untimed.size() == 1 ? "" : "s",
                                  node.untimed.begin()->first, node.untimed.begin()->second));
  notes.insert(notes.end(), cluster.remarks.begin(), cluster.remarks.end());
  if (!effects.nodes.empty())
    notes.emplace_back(
        "slower by: the node's time over the median node's, the median over its benchmarks");
  if (const auto [times, estimates] = EstimatesOf(cluster); estimates > 0)
    notes.push_back(fmt::format(
        "estimates: {:.0f} % of the nodes' times (too few clean repetitions); the median over "
        "nodes is over all of them",
        100.0 * static_cast<double>(estimates) / static_cast<double>(times)));
  notes.push_back(FindingsText(cluster));
  return notes;
}

}  // namespace

std::string ClusterTitle(const Cluster& cluster) {
  return fmt::format("{}, {} benchmarks: {}", CountText(cluster), cluster.run.records.size(),
                     cluster.kinds.empty() ? "" : cluster.kinds.front().name);
}

document::Document ClusterDocument(const Cluster& cluster, const NodeEffects& effects,
                                   bool verbose) {
  document::Document document;
  auto benchmarks = BenchmarkTable(cluster, effects), nodes = NodeTable(cluster, effects),
       interference = InterferenceTable(cluster);
  document::Sentences notes{.texts = Notes(cluster, effects)};
  if (!verbose) benchmarks.first = nodes.first = interference.first = notes.first = kMaxRows;
  document.Add(FindingTable(cluster));
  document.Add(std::move(notes));
  for (auto* table : {&nodes, &interference}) document.Add(std::move(*table));
  document.Add(RoofTable(cluster, effects));
  document.Add(std::move(benchmarks));
  return document;
}

void WriteClusterCsv(const Cluster& cluster, const NodeEffects& effects, std::ostream& out) {
  out << "node,status,benchmark,seconds,noisy,ratio\n";
  for (std::size_t i = 0; i < cluster.run.records.size(); ++i) {
    const auto& record = cluster.run.records[i];
    const auto name = text::CsvCell(record.name);
    for (std::size_t j = 0; j < cluster.nodes_of[i].size(); ++j) {
      const auto index = cluster.nodes_of[i][j];
      const auto& node = cluster.nodes[index];
      const auto& repetition = record.repetitions[j];
      out << fmt::format("{},{},{},{},{},{}\n", text::CsvCell(node.name()), Key(node.status), name,
                         repetition.seconds, cluster.estimates[i][j] ? 1 : 0,
                         *effects.ratios[i][index]);
    }
  }
}

figure::NodeMap MapOf(const Cluster& cluster, const NodeEffects& effects) {
  figure::NodeMap map;
  auto nodes = VectorOf<std::size_t>(effects.nodes, &NodeEffect::node);
  std::ranges::sort(nodes);  // indices are sorted by name
  for (const auto node : nodes) map.nodes.push_back(cluster.nodes[node].name());
  for (std::size_t i = 0; i < effects.ratios.size(); ++i) {
    if (effects.benchmarks[i].nodes == 0) continue;
    map.benchmarks.push_back(effects.benchmarks[i].name);
    auto& row = map.slower.emplace_back();
    for (const auto node : nodes) {
      const auto& ratio = effects.ratios[i][node];
      row.push_back(ratio ? std::optional(100 * (*ratio - 1)) : std::nullopt);
    }
  }
  for (const auto& roof : effects.roofs) {
    auto& [name, values] = map.roofs.emplace_back(RoofText(roof.name), std::vector<double>());
    for (const auto node : nodes)
      if (const auto* value = FindValue(cluster.nodes[node].roofs, roof.name))
        values.push_back(100 * (*value / roof.median - 1));
  }
  map.caption = ClusterTitle(cluster);
  return map;
}

}  // namespace dlroof::cluster
