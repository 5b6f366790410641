// How far the nodes of a cluster's run are, from the files in its folder.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/cluster_run/node_folder.h"

namespace dlroof::cluster_run {

enum class NodeState { kWhole, kMeasuring, kNotBegun };

struct NodeProgress {
  std::string name;
  NodeState state = NodeState::kNotBegun;
  std::optional<std::size_t> done, all;  // [1] benchmarks; set if its journal tells
};

// Returns the progress of the requested nodes, and of those with files where no list is recorded,
// sorted by name.
std::vector<NodeProgress> ProgressOf(const NodeFolder& folder);

// Returns whether every node is whole.
bool IsWhole(const std::vector<NodeProgress>& progress);

// Returns lines: how many nodes are whole, how many benchmarks are done and left, and each node
// that is not whole with its numbers. `title` begins the first line, such as a time.
std::string ProgressText(const std::string& title, const std::vector<NodeProgress>& progress);

// Writes DIR/progress.txt and prints it every `every_seconds` [s], until every node is whole or an
// interrupt; once if it is 0. Shows the last re-measurement in DIR/visits, if there is one.
void FollowProgress(const std::string& folder, double every_seconds);

}  // namespace dlroof::cluster_run
