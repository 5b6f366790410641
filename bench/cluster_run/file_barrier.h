// The place where nodes that measure at once wait for each other, in a folder that all share.
//
// A node's file there, NAME@TURN, is empty and says how far it is: TURN is the number of the
// benchmark before which it waits, or "done". A node reads them all by listing the folder once,
// which NFS answers anew each time that a folder is opened. No node needs MPI, a port or ssh.
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

// The time that a node waits by. Tests have one of their own.
struct BarrierClock {
  std::function<double()> seconds;    // [s] steady
  std::function<double()> date;       // [s] since 1970-01-01T00:00:00Z
  std::function<void(double)> sleep;  // [s]
  std::function<bool()> stopped;      // an interrupt: nobody is awaited any more
};
BarrierClock SystemBarrierClock();

class FileBarrier {
 public:
  // Makes the folder, and removes files of an earlier process of this node. `others`: the nodes to
  // meet; `finished`: [1] more of them have nothing left to do. Throws BadInput: the folder cannot
  // be written.
  FileBarrier(std::filesystem::path folder, std::string name,
              const std::vector<std::string>& others, std::size_t finished, double deadline_seconds,
              BarrierClock clock);

  // Waits until each node that is still awaited has come to this turn or is beyond it, for at most
  // the deadline. A node that has not come by then is never awaited again.
  cluster::Barrier Meet(std::size_t turn, const std::string& benchmark);
  // Lets nobody wait for this node any more.
  void Leave();

 private:
  // Turns of the nodes by name; absent: done. A node that has no file is not among them.
  std::map<std::string, std::optional<std::size_t>> Turns() const;
  void Write(const std::string& turn);

  std::filesystem::path folder_;
  std::string name_;
  std::set<std::string> awaited_;
  std::size_t finished_;
  double deadline_seconds_;
  double pause_seconds_;  // [s] between two looks
  BarrierClock clock_;
  std::filesystem::path own_;  // this node's file; empty: none yet
};

}  // namespace dlroof::cluster_run
