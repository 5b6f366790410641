// Identifies the node of a process by its launcher's variables, and manages the shared folder of a
// cluster's run. A node writes only files of its own name:
//   DIR/nodes/NAME.json     its complete run file
//   DIR/runs/NAME.json      its unfinished run, with a journal; NAME.node: the node's facts
//   DIR/runs/NAME.meetings  its barriers with other nodes, a line of JSON each
//   DIR/meetings/           the progress of each node (file_barrier.h)
//   DIR/cache/NAME/         its ceilings, because equal nodes have equal fingerprints and share
//   $HOME DIR/logs/NAME.log       its messages DIR/visits/N/           nodes, runs and logs of the
//   N-th further visit DIR/network.json, DIR/network.log   the file of dlroof_net and its
//   launcher's messages DIR/asked.txt           names of the requested nodes, one per line, from
//   the launch script
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

// Returns an environment variable's value, or "" if it is not set.
using Environment = std::function<std::string(const std::string& name)>;

// Returns name, known_by, engine, rank, job and place. The engine follows from the first of these
// variables that is set: SLURMD_NODENAME (with SLURM_PROCID), OMPI_COMM_WORLD_RANK, PMIX_RANK,
// PMI_RANK, FLUX_TASK_RANK. The name is Slurm's or `host`, with "-taskN" if a node has several
// tasks. With `per_gpu` the process has one of its node's GPUs: its name ends in "-gpuN", N being
// its number on the node, and `gpu` is GpuOfTask's. Throws BadInput for a name that cannot be a
// file's, and with `per_gpu` if the launcher does not number a node's processes.
cluster::NodeFacts IdentifyNode(const Environment& environment, const std::string& host,
                                bool per_gpu = false);

// Returns the CUDA_VISIBLE_DEVICES for the node's process number `local`: the only GPU in `visible`
// (the launcher's value), the process's entry of a longer list, or its number without a list.
// Throws BadInput for a list that is too short.
std::string GpuOfTask(const std::string& visible, const std::string& local);

// Returns IdentifyNode of this process, with the CPUs that it may use and those that are online.
cluster::NodeFacts ThisNode(bool per_gpu = false);

class NodeFolder {
 public:
  // `visit` is 0 for the first visit.
  explicit NodeFolder(const std::filesystem::path& folder, int visit = 0);

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path Node(const std::string& name) const { return In("nodes", name + ".json"); }
  std::filesystem::path Run(const std::string& name) const { return In("runs", name + ".json"); }
  std::filesystem::path Facts(const std::string& name) const { return In("runs", name + ".node"); }
  std::filesystem::path Barriers(const std::string& name) const {
    return In("runs", name + ".meetings");
  }
  std::filesystem::path BarrierPlace() const { return folder_ / "meetings"; }
  // Each visit has its own cache, and so measures ceilings again.
  std::filesystem::path Cache(const std::string& name) const { return In("cache", name); }
  // The file that dlroof_net writes.
  std::filesystem::path Network() const { return folder_ / "network.json"; }
  std::filesystem::path Log(const std::string& name) const { return In("logs", name + ".log"); }

  // Creates the folders. Throws BadInput.
  void Make() const;

  // Returns the names in asked.txt, if the file exists.
  std::optional<std::vector<std::string>> Asked() const;
  // Returns the files in nodes/.
  std::vector<std::filesystem::path> NodeFiles() const;
  // Returns the names of nodes that have begun and have no file in nodes/.
  std::vector<std::string> Unfinished() const;
  // Returns why the network could not be measured, the last line of network.log; nothing if
  // network.json exists or no measurement was requested.
  std::optional<Reason> NetworkFailure() const;
  // Returns the numbers of the further visits in ascending order.
  std::vector<int> Visits() const;

 private:
  std::filesystem::path In(const char* folder, const std::string& file) const {
    return folder_ / folder / file;
  }

  std::filesystem::path folder_;
};

// Returns the names of nodes in a file, one per line, each once. Throws BadInput for an invalid
// name.
std::vector<std::string> NamesIn(const std::filesystem::path& path);

// Returns the lines of a node's .meetings file as an array, for each benchmark the last line.
// Ignores incomplete lines. Returns an empty array if there is no file.
nlohmann::json ReadBarriers(const std::filesystem::path& path);

// Reads one node's file. An invalid file (incomplete, of another version, without a node, of a node
// with another file) gives a failed node with the reason.
cluster::NodeSummary ReadNodeFile(const std::filesystem::path& path);

// Returns whether the file is an unfinished node's.
bool IsJournal(const std::string& path);

// Reads what a node that is not finished has measured.
cluster::NodeSummary ReadUnfinished(const NodeFolder& folder, const std::string& name);

// Returns the run of a finished node's file, or of an unfinished node's journal.
record::RunFile ReadNodeRun(const std::string& path);

// Returns the SHA-256 (FIPS 180-4) as 64 hexadecimal digits, as sha256sum prints it.
std::string Sha256(std::string_view bytes);

}  // namespace dlroof::cluster_run
