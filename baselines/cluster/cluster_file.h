// The cluster file: a run file whose repetitions are from different nodes, with a member "cluster".
// Every program that reads run files can read it. Writers of a cluster as text, and the medians
// over nodes that describe a typical node.
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

// Returns "context", "machines" and "records" as in a run file; each repetition has a "node" (an
// index into cluster.nodes) and its exact time. "benchmarks" has an entry in Google Benchmark's
// form for each benchmark, with the median over nodes. "cluster" has "schema", "asked", "kinds",
// "nodes", "remarks" and "findings". `command` is written as context.dlroof.command.
nlohmann::json ToJson(const Cluster& cluster, const std::string& command);

// Reads what ToJson wrote. Throws BadInput, which begins with `path`, where ReadRunFile does, and
// for a run file that is not of a cluster, a newer schema, and an index of a missing node.
Cluster ReadClusterFile(const std::string& path);

// Replaces the rates and launch costs of `machine` by the medians over these nodes, with the
// interval of the median (from 6 nodes on). A row that at least half of the nodes validated is
// validated, and its median is over those nodes. Removes what belongs to a single node: sustained
// rates, single access mixes, sweeps, measured knees, validations.
void MergeMachine(const std::vector<const NodeSummary*>& nodes, machine::Machine& machine);

// Returns medians over nodes; the interval is that of the joules' median, from 6 nodes on. Returns
// nothing for no node, and where nodes measured different energy domains.
std::optional<energy::Energy> MergedEnergy(const std::vector<energy::Energy>& nodes);

// Writes incomplete nodes, roofs and benchmarks over nodes, and nodes by how slow they are: the
// first of each, or all with `verbose`. `width` [columns] of the terminal; lines are as long as
// they need for a width of 0.
void WriteClusterTable(const Cluster& cluster, const NodeEffects& effects, int width, bool verbose,
                       std::ostream& out);
void WriteClusterMarkdown(const Cluster& cluster, const NodeEffects& effects, std::ostream& out);
// Writes a line for each benchmark and node: node, status, benchmark, seconds, noisy, ratio.
void WriteClusterCsv(const Cluster& cluster, const NodeEffects& effects, std::ostream& out);
// Writes a page like WriteVersusPage's.
void WriteClusterPage(const Cluster& cluster, const NodeEffects& effects, const std::string& figure,
                      const std::string& no_figure_reason, std::ostream& out);

// Returns a map of the nodes with a time, and of the benchmarks that at least one node has.
figure::NodeMap MapOf(const Cluster& cluster, const NodeEffects& effects);

}  // namespace dlroof::cluster
