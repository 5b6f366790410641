#include "baselines/cluster/cluster_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <type_traits>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"
#include "counters/base/numbers.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::cluster {
namespace {

using nlohmann::json;

// Writes and reads JSON objects with one list of members per type: List(members, object) calls
// members(key, member) for each member. This reads the member if there is a JsonReader, and else
// writes it. Numbers and enumerations are required; empty texts, lists and optionals are absent.
class Members {
 public:
  Members() = default;  // writes
  explicit Members(const JsonReader& reader) : reader_(&reader) {}

  template <class T>
  void operator()(const char* key, T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      if (reader_ == nullptr) object[key] = value;
      if (reader_ != nullptr) value = static_cast<T>(reader_->NotNegative(key));
    } else if constexpr (requires { value.has_value(); }) {
      if (reader_ == nullptr ? value.has_value() : reader_->Has(key))
        (*this)(key, value ? *value : value.emplace());
    } else if (reader_ == nullptr) {
      if (!value.empty()) object[key] = value;
    } else if (reader_->Has(key)) {
      Read(key, value);
    }
  }
  template <class Enum, class FromKey>
  void operator()(const char* key, Enum& value, const FromKey& from_key, const char* expected) {
    if (reader_ == nullptr) object[key] = Key(value);
    if (reader_ == nullptr) return;
    const auto found = from_key(reader_->Text(key));
    if (!found) reader_->Refuse(key, expected);
    value = *found;
  }

  json object = json::object();  // the written object

 private:
  void Read(const char* key, std::string& text) { text = reader_->Text(key); }
  void Read(const char* key, std::vector<std::string>& texts) { texts = reader_->Texts(key); }
  void Read(const char* key, std::map<std::string, std::string>& texts) {
    texts = reader_->TextsByKey(key);
  }
  void Read(const char* key, std::map<std::string, double>& numbers) {
    const auto child = reader_->Object(key);
    for (const auto& name : child.Keys()) numbers[name] = child.Positive(name);
  }

  const JsonReader* reader_ = nullptr;
};

void List(Members& members, NodeLoad& load) {
  members("wall_seconds", load.wall_seconds);
  members("steal_share", load.steal_share);
  members("quota_cpus", load.quota_cpus);
  members("periods", load.periods);
  members("throttled", load.throttled);
}

void List(Members& members, Interference& interference) {
  members("repetitions", interference.repetitions);
  members("noisy", interference.noisy);
  members("wall_over_clean", interference.wall_over_clean);
}

// Lists the members of NodeFacts except `load`.
void List(Members& members, NodeFacts& facts) {
  members("name", facts.name);
  members("known_by", facts.known_by);
  members("arguments", facts.arguments);
  members("engine", facts.engine);
  members("rank", facts.rank);
  members("job", facts.job);
  members("place", facts.place);
  members("host", facts.host);
  members("gpu", facts.gpu);
  members("cpus_given", facts.cpus_specified);
  members("cpus", facts.cpus);
  members("system", facts.system);
}

// Lists the members of ClusterNode except `facts` and `interference`.
void List(Members& members, ClusterNode& node) {
  members("status", node.status, NodeStatusFromKey, "whole, partial, missing or failed");
  members("reason", node.reason);
  members("file", node.file);
  members("started_at", node.started_at);
  members("kind", node.kind);
  members("ceilings", node.roofs);
  members("without", node.untimed);
}

void List(Members& members, Finding& finding) {
  members("node", finding.node);
  members("what", finding.what);
  members("ratio", finding.ratio);
  members("visits", finding.visits);
  members("verdict", finding.verdict, NodeVerdictFromKey,
          "suspect, slow, not confirmed, limited or disturbed");
}

template <class T>
json Written(T object) {
  Members members;
  List(members, object);
  return std::move(members.object);
}

template <class T>
T ReadFrom(const JsonReader& reader) {
  T object;
  Members members(reader);
  List(members, object);
  return object;
}

json NodeJson(const ClusterNode& node) {
  auto object = Written(node);
  object["name"] = node.name();
  if (!node.facts.known_by.empty())
    object["facts"] = ToJson(node.facts);
  else if (!node.facts.host.empty())
    object["host"] = node.facts.host;  // a node without a file has no "facts"
  if (node.interference.repetitions > 0) object["interference"] = Written(node.interference);
  return object;
}

ClusterNode NodeFrom(const JsonReader& reader, std::size_t kinds) {
  auto node = ReadFrom<ClusterNode>(reader);
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
  if (!reader.Has("interference")) return node;
  const auto interference = reader.Object("interference");
  node.interference = ReadFrom<Interference>(interference);
  if (node.interference.noisy > node.interference.repetitions)
    interference.Refuse("noisy", "at most as many as 'repetitions'");
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
  for (const auto& finding : cluster.findings) object["findings"].push_back(Written(finding));
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

// Sets `nodes_of` and `estimates` from the members of each repetition.
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
      estimates.push_back((repetition.Has("estimate") && repetition.Flag("estimate")) ||
                          (repetition.Has("disturbed") && repetition.Flag("disturbed")));
    }
  }
}

void ReadCluster(const JsonReader& reader, Cluster& cluster) {
  reader.Schema("schema", kClusterSchema);
  cluster.asked_known = reader.Flag("asked");
  for (std::size_t i = 0; i < reader.Array("kinds").size(); ++i) {
    const auto kind = reader.Item("kinds", i);
    cluster.kinds.push_back({kind.Text("name"), kind.TextsByKey("fingerprints"), {}, {}});
    if (kind.Has("traits")) cluster.kinds.back().traits = kind.TextsByKey("traits");
  }
  for (std::size_t i = 0; i < reader.Array("nodes").size(); ++i) {
    cluster.nodes.push_back(NodeFrom(reader.Item("nodes", i), cluster.kinds.size()));
    if (const auto kind = cluster.nodes.back().kind) cluster.kinds[*kind].nodes.push_back(i);
  }
  cluster.remarks = reader.Texts("remarks");
  for (std::size_t i = 0; i < reader.Array("findings").size(); ++i) {
    const auto finding = reader.Item("findings", i);
    cluster.findings.push_back(ReadFrom<Finding>(finding));
    if (cluster.findings.back().node >= cluster.nodes.size())
      finding.Refuse("node", "an index into cluster.nodes");
  }
}

struct Values {
  std::vector<double> all, validated;
};

Values ValuesOf(const std::vector<const NodeSummary*>& nodes, const CeilingRow& row) {
  Values values;
  for (const auto* node : nodes) {
    const auto found = node->ceilings.find(row);
    if (found == node->ceilings.end()) continue;
    values.all.push_back(found->second.value);
    if (found->second.validated) values.validated.push_back(found->second.value);
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
  auto object = Written(facts);
  object["arguments"] = facts.arguments;
  if (auto load = Written(facts.load); !load.empty()) object["load"] = std::move(load);
  return object;
}

NodeFacts NodeFactsFromJson(const json& object, const std::string& where) {
  const JsonReader reader(object, where);
  NodeFacts facts;
  Members members(reader);
  List(members, facts);
  CheckNodeName(facts.name, where);
  if (!facts.host.empty()) CheckNodeName(facts.host, where);
  if (const auto order = reader.TextOr("order", "");  // in files before version 2.0
      !order.empty() && order != "at-once" && order != "one-by-one")
    reader.Refuse("order", "at-once or one-by-one");
  if (reader.Has("load")) facts.load = ReadFrom<NodeLoad>(reader.Object("load"));
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
      domain.second = Median(
          values([&](const energy::Energy& node) { return (node.*domains).at(domain.first); }));
  merged.others_cpus.reset();
  for (const energy::Energy& node : nodes)
    if (node.others_cpus)
      merged.others_cpus = std::max(merged.others_cpus.value_or(0), *node.others_cpus);
  return merged;
}

}  // namespace dlroof::cluster
