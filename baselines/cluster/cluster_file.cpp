#include "baselines/cluster/cluster_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_members.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::cluster {

using nlohmann::json;

void Members(auto& all, NodeLoad& load) {
  all(Field("wall_seconds", load.wall_seconds), Field("steal_share", load.steal_share),
      Field("quota_cpus", load.quota_cpus), Field("periods", load.periods),
      Field("throttled", load.throttled));
}

void Members(auto& all, Interference& interference) {
  all(Required("repetitions", interference.repetitions), Required("noisy", interference.noisy),
      Field("wall_over_clean", interference.wall_over_clean));
}
static void Check(const JsonReader& at, const Interference& interference) {
  if (interference.noisy > interference.repetitions)
    at.Refuse("noisy", "at most as many as 'repetitions'");
}

void Members(auto& all, NodeFacts& facts) {
  all(Field("name", facts.name), Field("known_by", facts.known_by),
      Field("arguments", facts.arguments), Field("engine", facts.engine), Field("rank", facts.rank),
      Field("job", facts.job), Field("place", facts.place), Field("host", facts.host),
      Field("gpu", facts.gpu), Field("cpus_given", facts.cpus_specified), Field("cpus", facts.cpus),
      Field("system", facts.system), Field("load", facts.load));
}

// Lists the members of ClusterNode except `facts`.
void Members(auto& all, ClusterNode& node) {
  all(Keyed("status", node.status, kNodeStatuses, "whole, partial, missing or failed"),
      Field("reason", node.reason), Field("file", node.file), Field("started_at", node.started_at),
      Field("kind", node.kind), Field("ceilings", node.roofs), Field("without", node.untimed),
      Field("interference", node.interference));
}

void Members(auto& all, Finding& finding) {
  all(Required("node", finding.node), Field("what", finding.what), Required("ratio", finding.ratio),
      Required("visits", finding.visits),
      Keyed("verdict", finding.verdict, kNodeVerdicts,
            "suspect, slow, not confirmed, limited or disturbed"));
}

namespace {

json NodeJson(const ClusterNode& node) {
  auto object = MembersJson(node);
  object["name"] = node.name();
  if (!node.facts.known_by.empty())
    object["facts"] = ToJson(node.facts);
  else if (!node.facts.host.empty())
    object["host"] = node.facts.host;  // a node without a file has no "facts"
  return object;
}

ClusterNode NodeFrom(const JsonReader& reader, std::size_t kinds) {
  auto node = FromMembers<ClusterNode>(reader);
  if (node.kind && *node.kind >= kinds) reader.Refuse("kind", "an index into the kinds");
  std::erase_if(node.roofs, [](const auto& roof) {
    return roof.first.starts_with("link.");  // from version 1, which measured a network
  });
  node.facts.host = reader.TextOr("host", "");
  if (reader.Has("facts")) {
    const auto facts = reader.Object("facts");
    node.facts = NodeFactsFromJson(facts.json(), facts.where());
  }
  node.facts.name = reader.NonEmptyText("name");
  CheckNodeName(node.name(), reader.where());
  if (!node.facts.host.empty()) CheckNodeName(node.facts.host, reader.where());
  return node;
}

json ClusterJson(const Cluster& cluster) {
  json object = {{"schema", kClusterSchema},   {"asked", cluster.asked_known},
                 {"kinds", json::array()},     {"nodes", json::array()},
                 {"remarks", cluster.remarks}, {"findings", json::array()}};
  for (const auto& kind : cluster.kinds)
    object["kinds"].push_back({{"name", kind.name},
                               {"fingerprints", kind.fingerprints},
                               {"traits", kind.traits},
                               {"nodes", kind.nodes}});
  for (const auto& node : cluster.nodes) object["nodes"].push_back(NodeJson(node));
  for (const auto& finding : cluster.findings) object["findings"].push_back(MembersJson(finding));
  return object;
}

// Returns the record's entry in "benchmarks", which Google Benchmark's own tools read.
json EntryOf(const record::Record& record) {
  json entry = {{"name", record.name}, {"run_name", record.name},        {"run_type", "iteration"},
                {"repetitions", 1},    {"repetition_index", 0},          {"threads", 1},
                {"family_index", 0},   {"per_family_instance_index", 0}, {"iterations", 1},
                {"time_unit", "ns"}};
  if (const auto timing = record::TimeOf(record.repetitions))
    entry["real_time"] = entry["cpu_time"] = timing->median * 1e9;
  return entry;
}

// Adds to each record the exact median over nodes, and to each repetition its node and exact time.
void AddNodes(const Cluster& cluster, json& records) {
  for (std::size_t i = 0; i < cluster.nodes_of.size(); ++i) {
    if (const auto timing = record::TimeOf(cluster.run.records[i].repetitions)) {
      auto& seconds = records[i]["seconds"];
      seconds["median"] = timing->median;
      if (timing->ci95) seconds["ci95"] = {timing->ci95->first, timing->ci95->second};
    }
    auto& repetitions = records[i]["repetitions"];
    for (std::size_t j = 0; j < cluster.nodes_of[i].size(); ++j) {
      repetitions[j]["node"] = cluster.nodes_of[i][j];
      repetitions[j]["seconds"] = cluster.run.records[i].repetitions[j].seconds;
      if (cluster.estimates[i][j]) repetitions[j]["estimate"] = true;
    }
  }
}

void ReadNodesOf(const json& records, const std::string& path, Cluster& cluster) {
  for (std::size_t i = 0; i < cluster.run.records.size(); ++i) {
    auto& nodes = cluster.nodes_of.emplace_back();
    auto& estimates = cluster.estimates.emplace_back();
    std::set<std::size_t> known;
    const JsonReader record(records.at(i), fmt::format("{}: records[{}]", path, i));
    if (!record.Has("repetitions")) continue;
    for (std::size_t j = 0; j < record.Array("repetitions").size(); ++j) {
      const auto repetition = record.Item("repetitions", j);
      const double node = repetition.NotNegative("node");
      if (node >= static_cast<double>(cluster.nodes.size()))
        repetition.Refuse("node", "an index into cluster.nodes");
      nodes.push_back(static_cast<std::size_t>(node));
      if (!known.insert(nodes.back()).second) repetition.Refuse("node", "each node once");
      estimates.push_back(repetition.OptionalFlag("estimate") ||
                          repetition.OptionalFlag("disturbed"));
    }
  }
}

void ReadCluster(const JsonReader& reader, Cluster& cluster) {
  reader.Schema("schema", kClusterSchema);
  cluster.asked_known = reader.Flag("asked");
  cluster.kinds = reader.ItemsOf("kinds", [](const JsonReader& kind) {
    ClusterKind read{kind.Text("name"), kind.TextsByKey("fingerprints"), {}, {}};
    if (kind.Has("traits")) read.traits = kind.TextsByKey("traits");
    return read;
  });
  cluster.nodes = reader.ItemsOf(
      "nodes", [&](const JsonReader& node) { return NodeFrom(node, cluster.kinds.size()); });
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i)
    if (const auto kind = cluster.nodes[i].kind) cluster.kinds[*kind].nodes.push_back(i);
  cluster.remarks = reader.Texts("remarks");
  cluster.findings = reader.ItemsOf("findings", [&](const JsonReader& at) {
    auto finding = FromMembers<Finding>(at);
    if (finding.node >= cluster.nodes.size()) at.Refuse("node", "an index into cluster.nodes");
    return finding;
  });
}

struct Values {
  std::vector<double> all, validated;
};

Values ValuesOf(const std::vector<const NodeSummary*>& nodes, const CeilingRow& row) {
  Values values;
  for (const auto* node : nodes)
    if (const auto* ceiling = FindValue(node->ceilings, row)) {
      values.all.push_back(ceiling->value);
      if (ceiling->validated) values.validated.push_back(ceiling->value);
    }
  return values;
}

void MergeCeiling(const Values& values, machine::Ceiling& ceiling) {
  if (values.all.empty()) return;
  const bool validated = 2 * values.validated.size() >= values.all.size();
  const auto& used = validated ? values.validated : values.all;
  ceiling.per_second = Median(used);
  ceiling.ci95 = MedianInterval95(used);
  ceiling.sustained_per_second.reset();
  ceiling.clock_hz.reset();
  ceiling.validation = {};
  if (!ceiling.IsSpecified())
    ceiling.status =
        validated ? machine::CeilingStatus::kValidated : machine::CeilingStatus::kNotValidated;
  ceiling.reasons.clear();
  if (ceiling.status == machine::CeilingStatus::kNotValidated)
    ceiling.reasons.push_back(
        fmt::format("validated on {} of {} nodes", values.validated.size(), values.all.size()));
  ceiling.how += fmt::format("; median of {} node{}", used.size(), used.size() == 1 ? "" : "s");
}

bool HaveSameDomains(const energy::Energy& a, const energy::Energy& b) {
  const auto names_equal = [](const auto& x, const auto& y) { return x.first == y.first; };
  return a.from == b.from && a.covers == b.covers &&
         std::ranges::equal(a.domains, b.domains, names_equal) &&
         std::ranges::equal(a.beside, b.beside, names_equal);
}

}  // namespace

json ToJson(const NodeFacts& facts) {
  auto object = MembersJson(facts);
  object["arguments"] = facts.arguments;  // also if there are none
  return object;
}

NodeFacts NodeFactsFromJson(const json& object, const std::string& where) {
  const JsonReader reader(object, where);
  const auto facts = FromMembers<NodeFacts>(reader);
  CheckNodeName(facts.name, where);
  if (!facts.host.empty()) CheckNodeName(facts.host, where);
  if (const auto order = reader.TextOr("order", "");  // in files before version 2.0
      !order.empty() && order != "at-once" && order != "one-by-one")
    reader.Refuse("order", "at-once or one-by-one");
  return facts;
}

json ToJson(const Cluster& cluster, const std::string& command) {
  auto run = cluster.run;
  if (run.context["dlroof"].is_object()) run.context["dlroof"].erase("node");
  run.context["dlroof"]["cluster"] = kClusterSchema;
  const auto [times, estimates] = EstimatesOf(cluster);
  run.context["dlroof"]["node_times"] = {{"all", times}, {"estimates", estimates}};
  run.context["dlroof"]["command"] = command;
  json file = roofline::ToJson(roofline::PlaceRun(std::move(run)));
  AddNodes(cluster, file["records"]);
  file["benchmarks"] = json::array();
  for (const auto& record : cluster.run.records) file["benchmarks"].push_back(EntryOf(record));
  file["cluster"] = ClusterJson(cluster);
  return file;
}

Cluster ReadClusterFile(const std::string& path) {
  const auto text = ReadFile(path, "a cluster file");
  std::ostringstream warnings;
  Cluster cluster;
  cluster.run = record::ParseRunFile(text, path, warnings);
  if (!warnings.str().empty()) {
    auto warning = warnings.str();
    warning.pop_back();
    throw BadInput("{}; expected a complete cluster file", warning);
  }
  const auto file = ParsedJson(text, path);
  const JsonReader reader(file, path);
  if (!reader.Has("cluster"))
    throw BadInput("{}: has no 'cluster', expected a file of `dlroof cluster gather`", path);
  ReadCluster(reader.Object("cluster"), cluster);
  if (reader.Array("records").size() != cluster.run.records.size())
    throw BadInput("{}: 'records': expected {} as there are benchmarks, got {}", path,
                   cluster.run.records.size(), reader.Array("records").size());
  ReadNodesOf(reader.Array("records"), path, cluster);
  return cluster;
}

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
  if (!std::ranges::all_of(
          nodes, [&](const energy::Energy& node) { return HaveSameDomains(first, node); }))
    return std::nullopt;
  const auto values = [&](const auto& of_node) { return VectorOf<double>(nodes, of_node); };
  energy::Energy merged = first;
  const auto joules = values(&energy::Energy::joules);
  merged.joules = Median(joules);
  merged.ci95 = MedianInterval95(joules);
  merged.seconds = Median(values(&energy::Energy::seconds));
  merged.window_seconds = std::ranges::min(values(&energy::Energy::window_seconds));
  merged.calls = Median(values(&energy::Energy::calls));
  for (const auto domains : {&energy::Energy::domains, &energy::Energy::beside})
    for (auto& domain : merged.*domains)
      domain.second = Median(
          values([&](const energy::Energy& node) { return (node.*domains).at(domain.first); }));
  merged.others_cpus.reset();
  for (const energy::Energy& node : nodes)
    if (node.others_cpus)
      merged.others_cpus = std::max(merged.others_cpus.value_or(0), *node.others_cpus);
  return merged;
}

}  // namespace dlroof::cluster
