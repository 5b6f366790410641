// The cluster file: a run file with a member "cluster", whose repetitions are the times of nodes.
// Readers of run files can read it. Also declared here: the cluster's report, medians over nodes.
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

// Returns the cluster file. "context", "machines" and "records" are as in a run file, except that a
// repetition is a node's exact time, with "node" (an index into cluster.nodes) and, if that time is
// an estimate, "estimate": true. A record's "seconds" are the median over nodes and its 95 %
// interval. "benchmarks" has Google Benchmark's entry per benchmark, with this median.
// context.dlroof.node_times has the number of all node times and of those that are estimates.
// "cluster" has "schema", "asked" (whether the requested nodes are known), "kinds", "nodes",
// "remarks" and "findings". `command` is written as context.dlroof.command.
nlohmann::json ToJson(const Cluster& cluster, const std::string& command);

// Reads a file that ToJson wrote. Older files mark estimates by "disturbed" instead of "estimate";
// both are read as estimates. Throws BadInput, whose message begins with `path`, if ReadRunFile
// refuses the file, if it is truncated, lacks "cluster" or has a newer schema, or if the "node" of
// a repetition is no index into cluster.nodes.
Cluster ReadClusterFile(const std::string& path);

// Replaces each rate of `machine` by its median over `nodes`, with a 95 % interval from 6 nodes on,
// and each launch cost by its median. A rate is validated if at least half of the nodes that
// measured it validated it; the median is then over the nodes that validated it. Removes facts that
// cannot be merged: sustained rates, clocks, access mixes, sweeps of working sets, measured ridge
// points, results of validation.
void MergeMachine(const std::vector<const NodeSummary*>& nodes, machine::Machine& machine);

// Returns the energy of a call: medians over `nodes` (joules with a 95 % interval from 6 nodes on),
// the shortest window, and the most CPUs that other programs used on a node. Returns nullopt for no
// nodes, and if nodes measured different energy domains.
std::optional<energy::Energy> MergedEnergy(const std::vector<energy::Energy>& nodes);

// Returns the report of a cluster: findings, remarks, nodes (the slowest first), interference, and
// the spreads of roofs and benchmarks. Unless `verbose`, a terminal shows 20 rows of long tables.
document::Document ClusterDocument(const Cluster& cluster, const NodeEffects& effects,
                                   bool verbose);
std::string ClusterTitle(const Cluster& cluster);
// Writes a CSV line per benchmark and node: node, status, benchmark, seconds, noisy (1: the time is
// an estimate), ratio of the time to the median over nodes.
void WriteClusterCsv(const Cluster& cluster, const NodeEffects& effects, std::ostream& out);

// Returns the heat map of the nodes with a time and of the benchmarks with a time on any node.
figure::NodeMap MapOf(const Cluster& cluster, const NodeEffects& effects);

}  // namespace dlroof::cluster
