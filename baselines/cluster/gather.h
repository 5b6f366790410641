// Joins the runs of many nodes into one cluster. Pure: the caller reads and writes the files.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "baselines/cluster/outliers.h"
#include "counters/base/keys.h"
#include "reporters/record/run_file.h"

namespace dlroof::cluster {

// Throws BadInput, which begins with `where`, unless `name` can be the name of a node or host:
// letters, digits, '.', '_' and '-'. Such names are safe in job scripts and as names of files.
void CheckNodeName(const std::string& name, const std::string& where);

// Returns the first three names and the number of the others, e.g. "n1, n2, n3 and 4 more".
std::string Named(const std::vector<std::string>& names);

// The load of a node's system during its measurement. Members that the system lacks are not set.
struct NodeLoad {
  std::optional<double> wall_seconds;  // [s]
  std::optional<double> steal_share;   // [1] steal time / time of all CPUs
  std::optional<double> quota_cpus;    // [1] the control group's quota: CPU time / wall time
  std::optional<double> periods;       // [1] the quota's periods in which a thread ran
  std::optional<double> throttled;     // [1] periods in which the quota stopped threads

  bool operator==(const NodeLoad&) const = default;
};

// Interference from other programs in the repetitions of a node's benchmarks.
struct Interference {
  std::size_t repetitions = 0, noisy = 0;  // [1] numbers over all benchmarks
  // [1] per benchmark: mean time of all repetitions / median time of the clean repetitions; this is
  // the median over benchmarks. Not set if no benchmark has a time.
  std::optional<double> wall_over_clean;

  // Returns the share of noisy repetitions [1]; 0 without repetitions.
  double NoisyShare() const {
    return repetitions == 0 ? 0 : static_cast<double>(noisy) / static_cast<double>(repetitions);
  }
  bool operator==(const Interference&) const = default;
};

// A node's description of itself: context.dlroof.node of its run file.
struct NodeFacts {
  std::string name;      // "n17"; "n17-task0" for one of several tasks on a node; "n17-gpu0" for a
                         // process with one of the node's GPUs
  std::string host;      // "n17"; empty in older files (use HostOf)
  std::string known_by;  // source of `name`: "hostname", or a variable, e.g. "SLURMD_NODENAME"
  std::string engine;    // launcher: "slurm", "openmpi", "pmix", "pmi", "flux", or ""
  std::string rank, job, place;        // as reported by the launcher, or ""
  std::string gpu;                     // CUDA_VISIBLE_DEVICES of a process with one GPU, else ""
  std::optional<int> cpus_specified;   // [1] CPUs that the process may use
  std::optional<int> cpus;             // [1] CPUs online on the node
  std::vector<std::string> arguments;  // of dlroof_bench
  // Facts of the running system: "governor", "clock limits", "kernel", "microcode".
  std::map<std::string, std::string> system = {};
  NodeLoad load = {};  // set in files of complete nodes

  bool operator==(const NodeFacts&) const = default;
};
nlohmann::json ToJson(const NodeFacts& facts);
// Inverse of ToJson. Throws BadInput, which begins with `where`.
NodeFacts NodeFactsFromJson(const nlohmann::json& json, const std::string& where);

enum class NodeStatus { kComplete, kPartial, kMissing, kFailed };
inline constexpr KeyRow<NodeStatus> kNodeStatuses[] = {{NodeStatus::kComplete, "whole"},
                                                       {NodeStatus::kPartial, "partial"},
                                                       {NodeStatus::kMissing, "missing"},
                                                       {NodeStatus::kFailed, "failed"}};
inline std::string_view Key(NodeStatus status) { return KeyIn(kNodeStatuses, status); }

// One benchmark's time on one node.
struct NodeTime {
  std::string name;       // of the benchmark
  double seconds = 0;     // [s] median, > 0
  double iterations = 0;  // [1] sum over all repetitions
  bool estimate = false;  // `seconds` is an estimate: too few clean repetitions (record::TimeOf)
  // The node's GPU measurements of the call, medians of its clean repetitions; null on CPUs.
  std::shared_ptr<const record::GpuSample> gpu = {};
  std::shared_ptr<const energy::Energy> energy = {};  // set in runs with --dlroof_energy
};

// One ceiling of a node: a rate, or the cost of a launch.
struct NodeCeiling {
  double value = 0;        // [flop/s], [byte/s] or, of a launch, [s]
  bool validated = false;  // validated, or specified by the user
};
// Device, threads and row (e.g. "bytes.dram", "launch"), e.g. {"cpu", 2, "flops.fp32.vector"}.
using CeilingRow = std::tuple<std::string, int, std::string>;

struct ClusterNode {
  NodeFacts facts;  // of a missing node only `name` and perhaps `host`
  NodeStatus status = NodeStatus::kComplete;
  std::string reason;  // why `status` is not kComplete
  std::string file;
  std::string started_at;                      // ISO 8601; may be empty
  std::map<std::string, std::string> untimed;  // benchmark -> reason why it has no time here
  Interference interference;
  std::optional<std::size_t> kind;      // index into Cluster::kinds; set if the node has times
  std::map<std::string, double> roofs;  // as returned by RoofsOf

  const std::string& name() const { return facts.name; }
};

// The part of one node's run file that Gather needs.
struct NodeSummary : ClusterNode {
  std::map<std::string, std::string> machines;  // fingerprints by device
  std::string machine_name;                     // shown to users
  std::vector<NodeTime> times;                  // in the file's order
  std::map<CeilingRow, NodeCeiling> ceilings;
  // Software and settings, e.g. "kernel" -> "6.1.0". Medians are over nodes with equal traits.
  std::map<std::string, std::string> traits;
  std::map<std::string, std::string> algorithms;  // benchmark -> the library's algorithm
};

// Returns the summary of a node's run file. Throws BadInput if the context of `run` names no node.
NodeSummary SummaryOf(const record::RunFile& run, const std::string& file);

// Returns the summary's ceilings [flop/s], [byte/s], [s] by device and row, e.g. "cpu.bytes.dram",
// at the device's largest number of threads. Omits finer rows, e.g. "cpu.flops.fp32.vector.avx2".
std::map<std::string, double> RoofsOf(const NodeSummary& summary);

// A group of like nodes: equal machines (the same fingerprints) and equal traits.
struct ClusterKind {
  std::string name;
  std::map<std::string, std::string> fingerprints;  // by device
  std::map<std::string, std::string> traits;        // e.g. "memory" -> "376 GiB" (see KindsOf)
  std::vector<std::size_t> nodes;
};

// Returns groups of the nodes i with counts[i], the largest first; nodes are indices into
// `summaries`. Memory sizes within 3 % of each other count as equal. Nodes that used another
// algorithm for a benchmark than most of their group form own groups, with a trait "algorithms".
std::vector<ClusterKind> KindsOf(const std::vector<NodeSummary>& summaries,
                                 const std::vector<bool>& counts);

// Returns how a kind differs from the most common kind, e.g. "kernel: 5.10.0, most nodes: 6.1.0".
std::vector<std::string> DifferencesOf(const ClusterKind& kind, const ClusterKind& most_common);

struct Cluster {
  // The run of the most common kind of nodes: a ceiling is the median over its nodes, and a record
  // has each node's own time as a repetition. No repetition is marked as noisy, so that for every
  // reader the record's time is the median over all nodes, including nodes with interference.
  record::RunFile run;
  std::vector<std::vector<std::size_t>> nodes_of;  // by record and repetition: index into `nodes`
  // By record and repetition: whether the node's time is an estimate.
  std::vector<std::vector<bool>> estimates;
  std::vector<ClusterNode> nodes;  // sorted by name
  std::vector<ClusterKind> kinds;  // the kind with the most nodes first
  bool asked_known = false;        // the list of requested nodes was recorded
  std::vector<std::string> remarks;
  std::vector<Finding> findings;  // slow and suspect nodes, set by AddFindings
};

// Number of the nodes' times, and how many of these are estimates.
struct EstimateCount {
  std::size_t times = 0, estimates = 0;  // [1]
};
// Returns the counts of one record, or of all records.
EstimateCount EstimatesOf(const Cluster& cluster, std::size_t record);
EstimateCount EstimatesOf(const Cluster& cluster);
// Returns the counts in the context of a cluster file, or nullopt for other run files.
std::optional<EstimateCount> EstimatesIn(const nlohmann::json& context);

// Calls visit(record, node, seconds) for each time, where `record` and `node` are indices.
template <class Visit>
void EachTime(const Cluster& cluster, const Visit& visit) {
  for (std::size_t i = 0; i < cluster.nodes_of.size(); ++i)
    for (std::size_t j = 0; j < cluster.nodes_of[i].size(); ++j)
      visit(i, cluster.nodes_of[i][j], cluster.run.records[i].repetitions[j].seconds);
}

// Returns the host name of the node, as schedulers use it.
const std::string& HostOf(const ClusterNode& node);
// Returns the largest number of one-GPU processes on a host, or nullopt if there are none.
std::optional<int> GpusOfHosts(const Cluster& cluster);

// Returns whether name a is before name b in natural order, e.g. n2 before n10.
bool NodeNameLess(const std::string& a, const std::string& b);

// Joins the nodes. `asked`: names of the requested nodes, if the list was recorded; adds those
// without a summary as missing. Marks a node as failed if its dlroof_bench arguments differ from
// those of most nodes. `reread(file)` must return a node's run file; it is called for a few nodes,
// because summaries lack some facts. Throws BadInput if no node has a benchmark with a time.
Cluster Gather(std::vector<NodeSummary> summaries,
               const std::optional<std::vector<std::string>>& asked,
               const std::function<record::RunFile(const std::string& file)>& reread);

}  // namespace dlroof::cluster
