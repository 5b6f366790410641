// Many nodes' runs as one. Pure: the caller reads and writes the files.
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

// A node by its own words: context.dlroof.node of its run file.
struct NodeFacts {
  std::string name;                    // "n17"; of several tasks on one node "n17-task0"; of a
                                       // process that has one of its GPUs "n17-gpu0"
  std::string host;                    // "n17"; empty: the name
  std::string known_by;                // the variable that named it: "SLURMD_NODENAME"; "hostname"
  std::string engine;                  // "slurm", "openmpi", "pmix", "pmi", "flux"; empty: none
  std::string rank, job, place;        // as the engine says; empty: it does not
  std::string order;                   // "at-once", "one-by-one"; empty: nobody said
  std::string gpu;                     // in CUDA_VISIBLE_DEVICES, of a process that has one GPU
  std::optional<int> cpus_specified;   // [1] that the process may use
  std::optional<int> cpus;             // [1] that the node has online
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
  std::shared_ptr<const energy::Energy> energy = {};  // null but for a run with --dlroof_energy
  std::optional<energy::MeteredWindow> window =
      {};  // absent but for one with --dlroof_meter_seconds
};

// The rate or cost of one row of a node's ceilings.
struct NodeCeiling {
  double value = 0;        // [flop/s], [byte/s] or, of a launch, [s]
  bool validated = false;  // or given
};
// By device, threads and row: {"cpu", 2, "flops.fp32.vector"}, "bytes.dram", "launch".
using CeilingRow = std::tuple<std::string, int, std::string>;

// The part of one node's run that gathering keeps.
struct NodeSummary {
  NodeFacts facts;
  NodeStatus status = NodeStatus::kComplete;
  std::string reason;  // why not whole
  std::string file;
  std::string sha256;                           // of the file's bytes; empty: not known
  std::string started_at;                       // ISO 8601; empty: not known
  std::map<std::string, std::string> machines;  // fingerprints by device
  std::string machine_name;                     // for people
  std::vector<NodeTime> times;                  // in the file's order
  std::map<std::string, std::string> without;   // benchmark -> why it has no time there
  std::map<CeilingRow, NodeCeiling> ceilings;
  std::vector<Barrier> barriers;  // with the other nodes; empty: it was to meet none
};

// Returns the summary of a node's run file. Throws BadInput: `run` is none of a node.
NodeSummary SummaryOf(const record::RunFile& run, const std::string& file);

// Returns the summary's ceilings [flop/s], [byte/s], [s] by device and row ("cpu.bytes.dram"), of
// each device's most threads, without finer rows.
std::map<std::string, double> RoofsOf(const NodeSummary& summary);

struct ClusterNode {
  std::string name;
  NodeStatus status = NodeStatus::kMissing;
  std::string reason, file, sha256, started_at;
  NodeFacts facts;
  std::optional<std::size_t> kind;         // index into the kinds; absent: no ceilings are known
  std::map<std::string, double> ceilings;  // as RoofsOf
  std::map<std::string, std::string> without;
};

// Nodes of equal machines.
struct ClusterKind {
  std::string name;
  std::map<std::string, std::string> fingerprints;  // by device
  std::vector<std::size_t> nodes;
};

struct Cluster {
  // Ceilings and records of the first kind: ceilings are medians over its nodes, a record has a
  // repetition for each of them.
  record::RunFile run;
  std::vector<std::vector<std::size_t>> nodes_of;  // by record and repetition: index into `nodes`
  std::vector<ClusterNode> nodes;                  // by name
  std::vector<ClusterKind> kinds;                  // the one with the most nodes first
  bool asked_known = false;                        // somebody wrote which nodes were asked
  std::vector<std::string> remarks;
  std::vector<Finding> findings;            // by AddFindings (visits.h)
  std::optional<ClusterBarriers> barriers;  // absent: no node was to meet others
  // The file of dlroof_net that the user gives beside the cluster file; absent: none.
  std::optional<MeasuredNetwork> network;
};

// Returns the name of the node's host: that of the network, of meters, of schedulers.
const std::string& HostOf(const ClusterNode& node);
// Returns how many processes with one GPU each a host has, the most of all; absent: none has.
std::optional<int> GpusOfHosts(const Cluster& cluster);

// Nodes' names in an order in which n2 precedes n10.
bool NodeNameLess(const std::string& a, const std::string& b);
// "n1, n2, n3 and 4 more"
std::string NamedNodes(const std::vector<std::string>& names);

// Joins the nodes. `asked`: names of the nodes that were asked; absent: nobody knows. Nodes whose
// arguments differ from most nodes' count as failed. `reread(file)` returns the run of one of the
// files once more: facts that are no numbers come from few of them. The order of `summaries` does
// not matter. `meters`, which may be null, has the watts of nodes in the windows of their calls.
// Throws BadInput where no node has a benchmark with a time.
Cluster Gather(std::vector<NodeSummary> summaries,
               const std::optional<std::vector<std::string>>& asked,
               const std::function<record::RunFile(const std::string& file)>& reread,
               const MeterLog* meters = nullptr);

}  // namespace dlroof::cluster
