// A barrier of nodes that measure at the same time, by files in a folder that all nodes share; it
// needs no MPI, port or ssh.
//
// Each node has an empty file NAME@TURN. TURN is the number of the benchmark before which the node
// waits, or "done". A node learns all turns by listing the folder, which NFS does not cache beyond
// the opening of a folder.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "baselines/cluster/barriers.h"

namespace dlroof::cluster_run {

// The clocks of a barrier, which tests replace.
struct BarrierClock {
  std::function<double()> seconds;    // [s] steady
  std::function<double()> date;       // [s] since 1970-01-01T00:00:00Z
  std::function<void(double)> sleep;  // [s]
  std::function<bool()> stopped;      // returns true after an interrupt, which ends the wait
};
BarrierClock SystemBarrierClock();

class FileBarrier {
 public:
  // Creates the folder and removes files of an earlier process of this node. `others` are the nodes
  // to wait for; `finished` more nodes have nothing left to do. Throws BadInput if the folder
  // cannot be written.
  FileBarrier(std::filesystem::path folder, std::string name,
              const std::vector<std::string>& others, std::size_t finished, double deadline_seconds,
              BarrierClock clock);

  // Waits until each awaited node has reached this turn, for at most the deadline. Nodes that miss
  // the deadline are not awaited again.
  cluster::Barrier Meet(std::size_t turn, const std::string& benchmark);
  // Tells the other nodes not to wait for this node any more.
  void Leave();

 private:
  // Returns the turns of the nodes with a file, by name; std::nullopt for nodes that are done.
  std::map<std::string, std::optional<std::size_t>> Turns() const;
  void Write(const std::string& turn);

  std::filesystem::path folder_;
  std::string name_;
  std::set<std::string> awaited_;
  std::size_t finished_;
  double deadline_seconds_;
  double pause_seconds_;  // [s] between two listings of the folder
  BarrierClock clock_;
  std::optional<std::filesystem::path> own_;  // this node's file
};

}  // namespace dlroof::cluster_run
