#include "baselines/cluster/gather.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>

#include "baselines/cluster/cluster_file.h"
#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::cluster {
namespace {

// Refuses nodes whose dlroof_bench arguments are not those of most nodes with times (in a tie, the
// smallest).
void RefuseOtherArguments(std::vector<NodeSummary>& summaries) {
  std::map<std::vector<std::string>, int> counts;
  for (const auto& summary : summaries)
    if (!summary.times.empty()) ++counts[summary.facts.arguments];
  const auto usual =
      std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  for (auto& summary : summaries) {
    if (summary.times.empty() || summary.facts.arguments == usual->first) continue;
    summary.status = NodeStatus::kFailed;
    summary.reason =
        fmt::format("measured with other arguments: '{}', most nodes with '{}'",
                    fmt::join(summary.facts.arguments, " "), fmt::join(usual->first, " "));
    summary.times.clear();
    summary.ceilings.clear();
  }
}

// Groups the complete and partial nodes that have times by KindsOf, and sets each node's kind.
void SetKinds(const std::vector<NodeSummary>& summaries, Cluster& cluster) {
  std::vector<bool> counts;
  for (const auto& summary : summaries)
    counts.push_back(!summary.times.empty() && (summary.status == NodeStatus::kComplete ||
                                                summary.status == NodeStatus::kPartial));
  cluster.kinds = KindsOf(summaries, counts);
  for (std::size_t k = 0; k < cluster.kinds.size(); ++k)
    for (const auto i : cluster.kinds[k].nodes) cluster.nodes[i].kind = k;
}

// Merges the records of a kind's nodes: one record per benchmark, with one repetition per node. The
// other members of a record are those of the first node that timed the benchmark; this node's file
// is read again, once per node.
void SetRecords(const std::vector<NodeSummary>& summaries, const ClusterKind& kind,
                const std::function<record::RunFile(const std::string&)>& reread,
                Cluster& cluster) {
  std::map<std::size_t, record::RunFile> donors;
  const auto donor = [&](std::size_t node) -> const record::RunFile& {
    const auto [found, added] = donors.try_emplace(node);
    if (added) found->second = reread(summaries[node].file);
    return found->second;
  };
  std::map<std::string, std::size_t> index_of;
  std::vector<std::vector<energy::Energy>> energies;  // by record, of nodes that measured energy
  for (const auto node : kind.nodes)
    for (const auto& time : summaries[node].times) {
      const auto [found, added] = index_of.try_emplace(time.name, cluster.run.records.size());
      const auto i = found->second;
      if (added) {
        const auto& records = donor(node).records;
        const auto record = std::ranges::find(records, time.name, &record::Record::name);
        if (record == records.end())
          throw BadInput("{}: changed while it was read", summaries[node].file);
        cluster.run.records.push_back(*record);
        cluster.run.records.back().repetitions.clear();
        cluster.run.records.back().parallel.reset();  // describes one node only
        cluster.nodes_of.emplace_back();
        cluster.estimates.emplace_back();
        energies.emplace_back();
      }
      cluster.run.records[i].repetitions.push_back(
          {.seconds = time.seconds, .iterations = time.iterations, .gpu = time.gpu});
      cluster.estimates[i].push_back(time.estimate);
      cluster.nodes_of[i].push_back(node);
      if (time.energy) energies[i].push_back(*time.energy);
    }
  for (std::size_t i = 0; i < energies.size(); ++i)
    cluster.run.records[i].energy = MergedEnergy(energies[i]);
  const auto& first = donor(kind.nodes.front());
  cluster.run.context = first.context;
  if (auto& ours = cluster.run.context["dlroof"]; ours.is_object())
    for (const char* of_one_node : {"energy", "meetings"}) ours.erase(of_one_node);
  cluster.run.machines = first.machines;
}

// Adds remarks on nodes whose files lack benchmarks that other nodes measured.
void AddLacking(Cluster& cluster) {
  for (const auto node : cluster.kinds.front().nodes) {
    std::vector<std::string> lacking;
    for (std::size_t i = 0; i < cluster.run.records.size(); ++i)
      if (const auto& name = cluster.run.records[i].name;
          std::ranges::find(cluster.nodes_of[i], node) == cluster.nodes_of[i].end() &&
          !cluster.nodes[node].untimed.contains(name))
        lacking.push_back(name);
    if (!lacking.empty())
      cluster.remarks.push_back(fmt::format("{} lacks {} of {} benchmarks: {}",
                                            cluster.nodes[node].name(), lacking.size(),
                                            cluster.run.records.size(), Named(lacking)));
  }
}

void AddRemarks(Cluster& cluster) {
  std::vector<std::string> fewer, other;
  for (const auto& node : cluster.nodes) {
    if (node.facts.cpus_specified && node.facts.cpus &&
        *node.facts.cpus_specified < *node.facts.cpus)
      fewer.push_back(
          fmt::format("{} ({} of {})", node.name(), *node.facts.cpus_specified, *node.facts.cpus));
    if (node.kind && *node.kind > 0 &&
        cluster.kinds[*node.kind].fingerprints != cluster.kinds.front().fingerprints)
      other.push_back(node.name());
  }
  if (!fewer.empty())
    cluster.remarks.push_back(
        fmt::format("the scheduler granted fewer CPUs than a node has: {}", Named(fewer)));
  if (!other.empty())
    cluster.remarks.push_back(
        fmt::format("other machines than most nodes, not in the medians: {}", Named(other)));
  for (const auto& kind : cluster.kinds) {
    if (&kind == &cluster.kinds.front() || kind.fingerprints != cluster.kinds.front().fingerprints)
      continue;
    const auto names = VectorOf<std::string>(
        kind.nodes, [&](const auto node) { return cluster.nodes[node].name(); });
    cluster.remarks.push_back(
        fmt::format("unlike most nodes, not in the medians: {} ({})", Named(names),
                    fmt::join(DifferencesOf(kind, cluster.kinds.front()), "; ")));
  }
  AddLacking(cluster);
  if (!cluster.asked_known)
    cluster.remarks.emplace_back(
        "no list of requested nodes: nodes without a file cannot be reported as missing");
}

void AddMissing(const std::vector<std::string>& asked, std::vector<NodeSummary>& summaries) {
  std::set<std::string> known;
  for (const auto& summary : summaries) {
    known.insert(summary.facts.name);
    if (!summary.facts.host.empty()) known.insert(summary.facts.host);
  }
  const bool per_gpu = std::ranges::any_of(
      summaries, [](const NodeSummary& summary) { return !summary.facts.gpu.empty(); });
  for (const auto& name : asked) {
    // Tasks of one node are named NODE-taskN.
    const auto task = known.lower_bound(name + "-task");
    const bool has_task = task != known.end() && task->starts_with(name + "-task");
    if (has_task || !known.insert(name).second) continue;
    NodeSummary missing;
    missing.status = NodeStatus::kMissing;
    missing.reason = "no file";
    missing.facts.name = name;
    if (per_gpu) missing.facts.host = name.substr(0, name.rfind("-gpu"));
    summaries.push_back(std::move(missing));
  }
}

using nlohmann::json;

void AddCeilings(const machine::Machine& machine, std::map<CeilingRow, NodeCeiling>& ceilings) {
  for (const auto& [threads, set] : machine.by_threads) {
    for (const auto& [pipe, row] : set.flops)
      ceilings[{machine.device, threads, "flops." + pipe}] = {row.per_second,
                                                              row.AllowsPercentages()};
    for (const auto& [level, row] : set.bytes)
      ceilings[{machine.device, threads, fmt::format("bytes.{}", Key(level))}] = {
          row.per_second, row.AllowsPercentages()};
    if (set.launch_seconds)
      ceilings[{machine.device, threads, "launch"}] = {*set.launch_seconds, true};
  }
}

// Returns the medians of the clean repetitions' GPU samples (of all if none is clean), or null.
std::shared_ptr<const record::GpuSample> SampleOf(const record::Record& record) {
  std::vector<record::GpuSample> clean, all;
  for (const auto& repetition : record.repetitions) {
    if (!repetition.gpu) continue;
    all.push_back(*repetition.gpu);
    if (!repetition.noisy) clean.push_back(*repetition.gpu);
  }
  if (all.empty()) return nullptr;
  return std::make_shared<const record::GpuSample>(
      record::SummarizeSamples(clean.empty() ? all : clean));
}

// Adds the record's time and counts to `summary`, or the reason if it has no time. Appends (mean
// time of all repetitions / median of the clean ones) to `wall_over_clean`.
void AddTime(const record::Record& record, NodeSummary& summary,
             std::vector<double>& wall_over_clean) {
  const auto timing = record.status == record::Status::kOk ? record::TimeOf(record.repetitions)
                                                           : std::optional<record::Timing>();
  if (!timing) {
    summary.untimed[record.name] = record.reason.empty() ? "no time" : record.reason;
    return;
  }
  NodeTime time{.name = record.name, .seconds = timing->median, .estimate = timing->noisy};
  double sum = 0;
  for (const auto& repetition : record.repetitions) {
    time.iterations += repetition.iterations;
    ++summary.interference.repetitions;
    summary.interference.noisy += repetition.noisy ? 1 : 0;
    sum += repetition.seconds;
  }
  wall_over_clean.push_back(sum / static_cast<double>(record.repetitions.size()) / timing->median);
  time.gpu = SampleOf(record);
  if (record.energy) time.energy = std::make_shared<const energy::Energy>(*record.energy);
  summary.times.push_back(std::move(time));
}

// Returns a node's software and settings: dlroof's version and commit, libraries with their
// instruction sets, threads, CPUs, memory, kernel, microcode, governor, clocks, drivers, variables.
std::map<std::string, std::string> TraitsOf(const record::RunFile& run, const NodeFacts& facts) {
  std::map<std::string, std::string> traits;
  const auto add = [&](const std::string& key, const std::string& text) {
    if (!text.empty()) traits[key] = text;
  };
  const auto& ours = record::Member(run.context, "dlroof");
  for (const char* key : {"version", "commit"}) add(key, record::Text(ours, key));
  if (const auto& threads = record::Member(ours, "threads"); threads.is_number_integer())
    add("threads", threads.dump());
  for (const auto& [what, key] :
       {std::pair("library ", "libraries"), std::pair("variable ", "environment")})
    if (const auto& texts = record::Member(ours, key); texts.is_object())
      for (const auto& [name, text] : texts.items())
        if (text.is_string()) add(what + name, text.get<std::string>());
  for (const auto& machine : run.machines)
    for (const char* key : {"memory", "kernel", "microcode", "driver", "clock.default"})
      add(machine.device == "cpu" ? key : machine.device + " " + key,
          FindCopy(machine.facts, key).value_or(""));
  for (const auto& [key, text] : facts.system) add(key, text);
  if (facts.cpus_specified) add("CPUs", std::to_string(*facts.cpus_specified));
  return traits;
}

}  // namespace

std::string Named(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNamed = 3;
  const auto shown =
      fmt::format("{}", fmt::join(std::span(names).first(std::min(names.size(), kMaxNamed)), ", "));
  return names.size() > kMaxNamed ? fmt::format("{} and {} more", shown, names.size() - kMaxNamed)
                                  : shown;
}

EstimateCount EstimatesOf(const Cluster& cluster, std::size_t record) {
  const auto& estimates = cluster.estimates.at(record);
  return {estimates.size(), static_cast<std::size_t>(std::ranges::count(estimates, true))};
}

EstimateCount EstimatesOf(const Cluster& cluster) {
  EstimateCount all;
  for (std::size_t i = 0; i < cluster.estimates.size(); ++i) {
    const auto [times, estimates] = EstimatesOf(cluster, i);
    all.times += times;
    all.estimates += estimates;
  }
  return all;
}

std::optional<EstimateCount> EstimatesIn(const json& context) {
  const auto& counts = record::Member(record::Member(context, "dlroof"), "node_times");
  const auto &times = record::Member(counts, "all"),
             &estimates = record::Member(counts, "estimates");
  if (!times.is_number_unsigned() || !estimates.is_number_unsigned()) return std::nullopt;
  return EstimateCount{times.get<std::size_t>(), estimates.get<std::size_t>()};
}

const std::string& HostOf(const ClusterNode& node) {
  return node.facts.host.empty() ? node.name() : node.facts.host;
}

std::optional<int> GpusOfHosts(const Cluster& cluster) {
  std::map<std::string, int> counts;
  for (const auto& node : cluster.nodes)
    if (!node.facts.gpu.empty()) ++counts[HostOf(node)];
  if (counts.empty()) return std::nullopt;
  return std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; })
      ->second;
}

bool NodeNameLess(const std::string& a, const std::string& b) {
  return strverscmp(a.c_str(), b.c_str()) < 0;
}

Cluster Gather(std::vector<NodeSummary> summaries,
               const std::optional<std::vector<std::string>>& asked,
               const std::function<record::RunFile(const std::string& file)>& reread) {
  if (asked) AddMissing(*asked, summaries);
  std::ranges::stable_sort(summaries, [](const NodeSummary& a, const NodeSummary& b) {
    return a.facts.name != b.facts.name ? NodeNameLess(a.facts.name, b.facts.name)
                                        : a.file < b.file;
  });
  RefuseOtherArguments(summaries);
  Cluster cluster;
  cluster.asked_known = asked.has_value();
  for (const auto& summary : summaries)
    cluster.nodes.emplace_back(summary).roofs = RoofsOf(summary);
  SetKinds(summaries, cluster);
  if (cluster.kinds.empty())
    throw BadInput(
        "no node has a benchmark with a time{}{}", summaries.empty() ? "" : "; the first one: ",
        summaries.empty() ? "" : summaries.front().facts.name + ": " + summaries.front().reason);
  const auto& kind = cluster.kinds.front();
  SetRecords(summaries, kind, reread, cluster);
  const auto members =
      VectorOf<const NodeSummary*>(kind.nodes, [&](std::size_t node) { return &summaries[node]; });
  for (auto& machine : cluster.run.machines) MergeMachine(members, machine);
  if (const auto gpus = GpusOfHosts(cluster))
    cluster.run.context["dlroof"]["devices_per_node"] = *gpus;
  AddRemarks(cluster);
  return cluster;
}

void CheckNodeName(const std::string& name, const std::string& where) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  if (name.empty() || name.find_first_not_of(kAllowed) != std::string::npos)
    throw BadInput("{}: '{}': expected a node's name of letters, digits, '-', '_' and '.'", where,
                   name);
}

std::map<std::string, double> RoofsOf(const NodeSummary& summary) {
  std::map<std::string, int> most;  // threads by device
  for (const auto& [row, ceiling] : summary.ceilings)
    most[std::get<0>(row)] = std::max(most[std::get<0>(row)], std::get<1>(row));
  std::map<std::string, double> roofs;
  for (const auto& [row, ceiling] : summary.ceilings) {
    const auto& [device, threads, key] = row;
    if (threads != most[device] || std::ranges::count(key, '.') > 2) continue;  // a finer row
    roofs[fmt::format("{}.{}", device, key)] = ceiling.value;
  }
  return roofs;
}

NodeSummary SummaryOf(const record::RunFile& run, const std::string& file) {
  const auto& node = record::Member(record::Member(run.context, "dlroof"), "node");
  if (node.is_null())
    throw BadInput(
        "{}: has no node's name; expected a file of `dlroof cluster node` "
        "(`dlroof cluster versus` takes run files as they are)",
        file);
  NodeSummary summary;
  summary.facts = NodeFactsFromJson(node, file + ": context.dlroof.node");
  summary.file = file;
  summary.started_at = record::Text(run.context, "date");
  for (const auto& machine : run.machines) {
    summary.machines[machine.device] = machine.fingerprint;
    summary.machine_name += (summary.machine_name.empty() ? "" : " + ") + machine.name;
    AddCeilings(machine, summary.ceilings);
  }
  summary.traits = TraitsOf(run, summary.facts);
  std::vector<double> wall_over_clean;
  for (const auto& record : run.records) {
    AddTime(record, summary, wall_over_clean);
    if (!record.algorithm.empty()) summary.algorithms[record.name] = record::AlgorithmText(record);
  }
  if (!wall_over_clean.empty())
    summary.interference.wall_over_clean = Median(std::move(wall_over_clean));
  return summary;
}

}  // namespace dlroof::cluster
