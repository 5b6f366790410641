// The cluster file: a run file whose repetitions are from different nodes, with a member "cluster";
// readers of run files read it. Also a cluster's text, and medians over nodes.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "baselines/cluster/gather.h"
#include "baselines/cluster/node_effects.h"
#include "counters/energy/energy_meter.h"
#include "reporters/document/document.h"
#include "reporters/figure/figure.h"

namespace dlroof::cluster {

inline constexpr int kClusterSchema = 1;

// Returns "context", "machines" and "records" as in a run file; each repetition is a node's exact
// time, with "node" (an index into cluster.nodes) and, if that time is an estimate, "estimate". A
// record's "seconds" are the median over nodes and its 95 % interval. "benchmarks" has Google
// Benchmark's entry per benchmark, with this median. context.dlroof.node_times has the numbers of
// times and of estimates. "cluster" has "schema", "asked", "kinds", "nodes", "remarks" and
// "findings". `command` is written as context.dlroof.command.
nlohmann::json ToJson(const Cluster& cluster, const std::string& command);

// Reads a file that ToJson wrote. In older files a noisy repetition is a node's estimate. Throws
// BadInput, which begins with `path`, as ReadRunFile does, and for a run file without "cluster", a
// newer schema, and an index of a missing node.
Cluster ReadClusterFile(const std::string& path);

// Replaces the rates and launch costs of `machine` by the medians over `nodes`, with the interval
// of the median from 6 nodes on. If at least half of the nodes validated a row, it is validated,
// and its median is over these nodes. Removes facts that cannot be merged over nodes: sustained
// rates, access mixes, sweeps of working sets, measured ridge points, numbers of validations.
void MergeMachine(const std::vector<const NodeSummary*>& nodes, machine::Machine& machine);

// Returns the medians over nodes; from 6 nodes on with the interval of the joules' median. Returns
// nullopt for no nodes, and if nodes measured different energy domains.
std::optional<energy::Energy> MergedEnergy(const std::vector<energy::Energy>& nodes);

// Returns the spread of roofs and benchmarks over nodes, the nodes (the slowest first), and
// remarks: in a terminal the first rows of each table, or all with `verbose`.
document::Document ClusterDocument(const Cluster& cluster, const NodeEffects& effects,
                                   bool verbose);
std::string ClusterTitle(const Cluster& cluster);
// Writes CSV lines, one per benchmark and node: node, status, benchmark, seconds, noisy, ratio.
void WriteClusterCsv(const Cluster& cluster, const NodeEffects& effects, std::ostream& out);

// Returns the heat map of the nodes with a time and the benchmarks with a time on any node.
figure::NodeMap MapOf(const Cluster& cluster, const NodeEffects& effects);

}  // namespace dlroof::cluster
