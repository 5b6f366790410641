// Joins the runs of many nodes into one cluster. Pure: the caller reads and writes the files.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "baselines/cluster/barriers.h"
#include "baselines/cluster/metered_nodes.h"
#include "baselines/cluster/network.h"
#include "baselines/cluster/outliers.h"
#include "reporters/record/run_file.h"

namespace dlroof::cluster {

// How a node described itself: context.dlroof.node of its run file.
struct NodeFacts {
  std::string name;      // "n17"; "n17-task0" for one of several tasks on a node; "n17-gpu0" for a
                         // process with one of the node's GPUs
  std::string host;      // "n17"; older files may lack it (HostOf)
  std::string known_by;  // the variable with its name, "SLURMD_NODENAME", or "hostname"
  std::string engine;    // launcher: "slurm", "openmpi", "pmix", "pmi", "flux", or ""
  std::string rank, job, place;        // as reported by the launcher, or ""
  std::string order;                   // "at-once", "one-by-one", or "" in older files
  std::string gpu;                     // CUDA_VISIBLE_DEVICES of a process with one GPU, else ""
  std::optional<int> cpus_specified;   // [1] CPUs that the process may use
  std::optional<int> cpus;             // [1] CPUs online on the node
  std::vector<std::string> arguments;  // of dlroof_bench

  bool operator==(const NodeFacts&) const = default;
};
nlohmann::json ToJson(const NodeFacts& facts);
// Reads what ToJson writes. Throws BadInput, which begins with `where`.
NodeFacts NodeFactsFromJson(const nlohmann::json& json, const std::string& where);

enum class NodeStatus { kComplete, kPartial, kMissing, kFailed };
std::string_view Key(NodeStatus status);
std::optional<NodeStatus> NodeStatusFromKey(std::string_view key);

// One benchmark's time on one node.
struct NodeTime {
  std::string name;       // of the benchmark
  double seconds = 0;     // [s] as TimeOf; > 0
  double iterations = 0;  // [1] of all repetitions
  bool noisy = false;
  std::shared_ptr<const energy::Energy> energy = {};  // set in runs with --dlroof_energy
  std::optional<energy::MeteredWindow> window = {};   // set in runs with --dlroof_meter_seconds
};

// The rate or cost of one row of a node's ceilings.
struct NodeCeiling {
  double value = 0;        // [flop/s], [byte/s] or, of a launch, [s]
  bool validated = false;  // or specified
};
// Device, threads and row: {"cpu", 2, "flops.fp32.vector"}; other rows are "bytes.dram", "launch".
using CeilingRow = std::tuple<std::string, int, std::string>;

// What Gather needs of one node's run.
struct NodeSummary {
  NodeFacts facts;
  NodeStatus status = NodeStatus::kComplete;
  std::string reason;  // why it is not complete
  std::string file;
  std::string sha256;                           // of the file's bytes; may be empty
  std::string started_at;                       // ISO 8601; may be empty
  std::map<std::string, std::string> machines;  // fingerprints by device
  std::string machine_name;                     // for people
  std::vector<NodeTime> times;                  // in the file's order
  std::map<std::string, std::string> untimed;   // benchmark -> reason why it has no time here
  std::map<CeilingRow, NodeCeiling> ceilings;
  std::vector<Barrier> barriers;  // with the other nodes
};

// Returns the summary of a node's run file. Throws BadInput if `run` is not the run of a node.
NodeSummary SummaryOf(const record::RunFile& run, const std::string& file);

// Returns the summary's ceilings [flop/s], [byte/s], [s] by device and row ("cpu.bytes.dram"), at
// the most threads of each device. Finer rows ("fp32.vector.avx2") are left out.
std::map<std::string, double> RoofsOf(const NodeSummary& summary);

struct ClusterNode {
  std::string name;
  NodeStatus status = NodeStatus::kMissing;
  std::string reason, file, sha256, started_at;
  NodeFacts facts;
  std::optional<std::size_t> kind;         // index into the kinds; set if its ceilings are known
  std::map<std::string, double> ceilings;  // as RoofsOf
  std::map<std::string, std::string> untimed;  // benchmark -> reason
};

// Nodes with equal machines.
struct ClusterKind {
  std::string name;
  std::map<std::string, std::string> fingerprints;  // by device
  std::vector<std::size_t> nodes;
};

struct Cluster {
  // Ceilings and records of the first kind: a ceiling is the median over its nodes, and a record
  // has one repetition per node.
  record::RunFile run;
  std::vector<std::vector<std::size_t>> nodes_of;  // by record and repetition: index into `nodes`
  std::vector<ClusterNode> nodes;                  // by name
  std::vector<ClusterKind> kinds;                  // the one with the most nodes first
  bool asked_known = false;                        // the list of requested nodes was recorded
  std::vector<std::string> remarks;
  std::vector<Finding> findings;            // by AddFindings (node_effects.h)
  std::optional<ClusterBarriers> barriers;  // set if nodes waited for each other
  // The file of dlroof_net, if the user gives one beside the cluster file.
  std::optional<MeasuredNetwork> network;
};

// Returns the name of the node's host, as the network, meters and schedulers call it.
const std::string& HostOf(const ClusterNode& node);
// Returns the largest number of one-GPU processes on a host, if any host has such processes.
std::optional<int> GpusOfHosts(const Cluster& cluster);

// Nodes' names in an order in which n2 precedes n10.
bool NodeNameLess(const std::string& a, const std::string& b);
// "n1, n2, n3 and 4 more"
std::string NamedNodes(const std::vector<std::string>& names);

// Joins the nodes. `asked` has the names of the requested nodes, if the list was recorded. Nodes
// whose arguments differ from most nodes' count as failed. `reread(file)` reads one of the runs
// again: facts other than numbers are taken from a few of them. The order of `summaries` does not
// matter. `meters` may be null; it has the power samples of the nodes during their calls. Throws
// BadInput if no node has a benchmark with a time.
Cluster Gather(std::vector<NodeSummary> summaries,
               const std::optional<std::vector<std::string>>& asked,
               const std::function<record::RunFile(const std::string& file)>& reread,
               const MeterLog* meters = nullptr);

}  // namespace dlroof::cluster
