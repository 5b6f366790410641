// The shared folder DIR of a cluster's run. A node writes only files of its own name:
//   DIR/nodes/NAME.json      its complete run file
//   DIR/runs/NAME.json       its unfinished run, with a journal; NAME.node: the node's facts
//   DIR/cache/NAME/          its ceilings (in $HOME, equal nodes would share a file)
//   DIR/logs/NAME.log        its messages
//   DIR/visits/N/            the same folders for the N-th re-measurement of suspect nodes
//   DIR/asked.txt            names of the requested nodes, one per line, from the launch script
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/cluster/gather.h"
#include "counters/base/error.h"
#include "counters/cpu/process_limits.h"

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

  void Make() const;  // creates the folders; throws BadInput if that fails

  // Returns the names of the requested nodes in asked.txt, or nullopt if there is no such file.
  std::optional<std::vector<std::string>> Asked() const;
  std::vector<std::filesystem::path> NodeFiles() const;  // the files in nodes/
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

// Reads node names from a file with one per line. Returns each once, sorted. Throws BadInput for an
// unreadable file or an invalid name.
std::vector<std::string> NamesIn(const std::filesystem::path& path);

// Reads a file of nodes/. Returns a partial node if the file is cut off, and a failed node if it is
// invalid (e.g. without a node's facts, or with another node's name), both with the reason.
cluster::NodeSummary ReadNodeFile(const std::filesystem::path& path);

// Returns whether the file is the journal of an unfinished node.
bool IsJournal(const std::string& path);

// Returns what an unfinished node has measured so far: a partial node, or a missing one if nothing.
cluster::NodeSummary ReadUnfinished(const NodeFolder& folder, const std::string& name);

// Returns the run file of a finished node, or the results in the journal of an unfinished node.
record::RunFile ReadNodeRun(const std::string& path);

// Returns an environment variable's value, or "" if it is not set.
using Environment = std::function<std::string(const std::string& name)>;

// Returns the node's name, known_by, engine, rank, job and place. The first of these variables that
// is set determines the engine: SLURMD_NODENAME (with SLURM_PROCID), OMPI_COMM_WORLD_RANK,
// PMIX_RANK, PMI_RANK, FLUX_TASK_RANK. The name is Slurm's node name, else DLROOF_NODE, else
// `host`. If a node has several tasks, the name ends in "-taskN". With `per_gpu`, one process per
// GPU, it ends in "-gpuN", where N is the process's number on the node, and `gpu` is set by
// GpuOfTask. Throws BadInput if the name cannot be a file name, and with `per_gpu` if the
// launcher does not number a node's processes.
cluster::NodeFacts IdentifyNode(const Environment& environment, const std::string& host,
                                bool per_gpu = false);

// Returns the value of CUDA_VISIBLE_DEVICES for the node's process number `local`: the only GPU in
// `visible` (the launcher's value), entry number `local` of a longer list, or `local` if there is
// no list. Throws BadInput for a list that is too short.
std::string GpuOfTask(const std::string& visible, const std::string& local);

// Returns IdentifyNode of this process, with the CPUs that it may use and those that are online.
cluster::NodeFacts ThisNode(bool per_gpu = false);

// Returns "kernel", "microcode", "governor" and "clock limits" (e.g. "800 to 3600 MHz, boost on"),
// those that the system reports. `sysfs` is /sys except in tests.
std::map<std::string, std::string> SystemOf(const std::filesystem::path& sysfs);

// Measures the node's load since its construction.
class LoadWatch {
 public:
  explicit LoadWatch(cpu::LimitFacts facts);
  cluster::NodeLoad Load() const;

 private:
  cpu::LimitFacts facts_;
  std::optional<cpu::CpuQuota> quota_;
  std::optional<cpu::Throttling> throttling_;
  std::string stat_;  // text of /proc/stat
  double begin_;      // [s]
};

// Returns steal time / all CPUs' time [1] between two texts of /proc/stat, or nullopt if unknown.
std::optional<double> StealShare(std::string_view before, std::string_view after);

}  // namespace dlroof::cluster_run
