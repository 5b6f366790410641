// What `dlroof cluster gather` and `report` say about slow and missing nodes, and their exit codes.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "baselines/cluster/gather.h"

namespace dlroof::cluster_run {

inline constexpr int kSlowNode = 1, kNotAllWhole = 3;  // exit codes

// Returns the hosts of the nodes that were proved slow, sorted, each once.
std::vector<std::string> HostsToDrain(const cluster::Cluster& cluster);

// Prints a sentence for each finding that is more than a suspicion, and Slurm's command that drains
// the slow nodes. Writes their hosts to the file `drain_list`, one a line, if it is set; an empty
// file without slow nodes. Throws BadInput if it cannot be written.
void PrintVerdicts(const cluster::Cluster& cluster, const std::optional<std::string>& drain_list,
                   std::ostream& out);

// Returns kSlowNode if a node was proved slow, else kNotAllWhole if a node is not complete, else 0.
int ExitCodeOf(const cluster::Cluster& cluster);

}  // namespace dlroof::cluster_run
