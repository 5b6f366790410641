// A cluster file as text for people and for programs.
#pragma once

#include <iosfwd>
#include <string>

#include "baselines/cluster/gather.h"
#include "baselines/cluster/node_effects.h"
#include "reporters/figure/node_map.h"

namespace dlroof::cluster {

// Nodes that are not whole, roofs and benchmarks over nodes, nodes by how slow they are: the first
// of each, all with `verbose`. As wide as the terminal (`width` [columns], 0: no limit).
void WriteClusterTable(const Cluster& cluster, const NodeEffects& effects, int width, bool verbose,
                       std::ostream& out);
void WriteClusterMarkdown(const Cluster& cluster, const NodeEffects& effects, std::ostream& out);
// A line for each benchmark and node: node, status, benchmark, seconds, disturbed, ratio.
void WriteClusterCsv(const Cluster& cluster, const NodeEffects& effects, std::ostream& out);
// As WriteVersusPage.
void WriteClusterPage(const Cluster& cluster, const NodeEffects& effects, const std::string& figure,
                      const std::string& no_figure, std::ostream& out);

// Nodes with a time, and benchmarks that some have.
figure::NodeMap MapOf(const Cluster& cluster, const NodeEffects& effects);

}  // namespace dlroof::cluster
