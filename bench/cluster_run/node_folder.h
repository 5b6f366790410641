// The shared folder DIR of a cluster's run. A node writes only files of its own name:
//   DIR/nodes/NAME.json      its complete run file
//   DIR/runs/NAME.json       its unfinished run, with a journal; NAME.node: the node's facts
//   DIR/cache/NAME/          its ceilings (in $HOME, equal nodes would share a file)
//   DIR/logs/NAME.log        its messages
//   DIR/visits/N/            nodes, runs and logs of the N-th re-measurement of suspect nodes
//   DIR/asked.txt            names of the requested nodes, one per line, from the launch script
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/cluster/gather.h"
#include "counters/base/error.h"

namespace dlroof::cluster_run {

class NodeFolder {
 public:
  // `visit` is 0 for the first measurement of all nodes, N for the folder DIR/visits/N/.
  explicit NodeFolder(const std::filesystem::path& folder, int visit = 0);

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path Node(const std::string& name) const { return In("nodes", name + ".json"); }
  std::filesystem::path Run(const std::string& name) const { return In("runs", name + ".json"); }
  std::filesystem::path Facts(const std::string& name) const { return In("runs", name + ".node"); }
  // Each re-measurement of suspect nodes has its own cache, and so measures the ceilings again.
  std::filesystem::path Cache(const std::string& name) const { return In("cache", name); }
  std::filesystem::path Log(const std::string& name) const { return In("logs", name + ".log"); }

  // Creates the folders. Throws BadInput if that fails.
  void Make() const;

  // Returns the names of the requested nodes in asked.txt, if the file exists.
  std::optional<std::vector<std::string>> Asked() const;
  // Returns the files in nodes/.
  std::vector<std::filesystem::path> NodeFiles() const;
  // Returns the names of nodes that have begun but have no file in nodes/.
  std::vector<std::string> Unfinished() const;
  // Returns the numbers N of the folders DIR/visits/N/, ascending.
  std::vector<int> Visits() const;

 private:
  std::filesystem::path In(const char* folder, const std::string& file) const {
    return folder_ / folder / file;
  }

  std::filesystem::path folder_;
};

// Returns the names of nodes in a file, one per line, without duplicates. Throws BadInput for an
// invalid name.
std::vector<std::string> NamesIn(const std::filesystem::path& path);

// Reads a file of nodes/. If the file is invalid (incomplete, of another version, without a node,
// or with another node's name), returns a failed node with the reason.
cluster::NodeSummary ReadNodeFile(const std::filesystem::path& path);

// Returns whether the file is the journal of an unfinished node.
bool IsJournal(const std::string& path);

// Returns what an unfinished node has measured so far.
cluster::NodeSummary ReadUnfinished(const NodeFolder& folder, const std::string& name);

// Returns the run file of a finished node, or the results in the journal of an unfinished node.
record::RunFile ReadNodeRun(const std::string& path);

// Returns the SHA-256 (FIPS 180-4) of the bytes as 64 hexadecimal digits.
std::string Sha256(std::string_view bytes);

// Writes DIR/progress.txt and prints it every `every_seconds` [s] until all nodes are complete or
// the user interrupts; only once if `every_seconds` is 0. Shows the last re-measurement in
// DIR/visits, if there is one.
void FollowProgress(const std::string& folder, double every_seconds);

}  // namespace dlroof::cluster_run
