// The cluster file: a run file whose repetitions are of different nodes, with "cluster" beside it.
// Every program that reads run files reads it.
//
// The typical node of a cluster: its ceilings, and its energy of a benchmark. Pure.
//
// A cluster file as text for people and for programs.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "baselines/cluster/gather.h"
#include "baselines/cluster/node_effects.h"
#include "counters/energy/energy.h"
#include "reporters/figure/cluster_figures.h"

namespace dlroof::cluster {

inline constexpr int kClusterSchema = 1;

// "context", "machines", "records" as in a run file, with a "node" in each repetition (an index
// into cluster.nodes) and its time to the last digit; "benchmarks", an entry of Google Benchmark's
// for each benchmark, with the median over nodes; "cluster": "schema", "asked", "kinds", "nodes",
// "remarks", "findings". `command` is context.dlroof.command.
nlohmann::json ToJson(const Cluster& cluster, const std::string& command);

// Reads what ToJson wrote. Throws BadInput, which begins with `path`: as ReadRunFile, and for a run
// file that is none of a cluster, a newer schema, nodes that are not there.
Cluster ReadClusterFile(const std::string& path);

// Replaces a node's rates and launch costs by the medians over these nodes, with the interval of
// the median over nodes (absent below 6). Where at least half of the nodes validated a row it is
// validated, and its median is of theirs. Removes what belongs to one node alone: sustained rates,
// single access mixes, sweeps, measured knees, proofs.
void MergeMachine(const std::vector<const NodeSummary*>& nodes, machine::Machine& machine);

// Medians over nodes; the interval is that of the joules' median, absent below 6 nodes. Absent
// without a node, and where nodes counted other things.
std::optional<energy::Energy> MergedEnergy(const std::vector<energy::Energy>& nodes);

// Nodes that are not whole, roofs and benchmarks over nodes, nodes by how slow they are: the first
// of each, all with `verbose`. As wide as the terminal (`width` [columns], 0: no limit).
void WriteClusterTable(const Cluster& cluster, const NodeEffects& effects, int width, bool verbose,
                       std::ostream& out);
void WriteClusterMarkdown(const Cluster& cluster, const NodeEffects& effects, std::ostream& out);
// A line for each benchmark and node: node, status, benchmark, seconds, noisy, ratio.
void WriteClusterCsv(const Cluster& cluster, const NodeEffects& effects, std::ostream& out);
// As WriteVersusPage.
void WriteClusterPage(const Cluster& cluster, const NodeEffects& effects, const std::string& figure,
                      const std::string& no_figure, std::ostream& out);

// Nodes with a time, and benchmarks that some have.
figure::NodeMap MapOf(const Cluster& cluster, const NodeEffects& effects);

}  // namespace dlroof::cluster
