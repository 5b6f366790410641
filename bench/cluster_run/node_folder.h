// The node that a process is on, by the variables that its launcher set.
//
// The shared folder of a cluster's run. A node writes only files of its own name:
//   DIR/nodes/NAME.json    its run file, whole or not there
//   DIR/runs/NAME.json     what it measures now, with its journal; NAME.node: its facts
//   DIR/runs/NAME.meetings  its meetings with other nodes, a line of JSON each
//   DIR/meetings/           how far each node is, for those that wait for it (barrier_point.h)
//   DIR/cache/NAME/        its ceilings: equal nodes have equal fingerprints, and share $HOME
//   DIR/logs/NAME.log      what it says
//   DIR/visits/N/          nodes, runs and logs of the N-th further visit
//   DIR/network.json, DIR/network.log   dlroof_net's file, and what its launcher said
//   DIR/asked.txt           names of the nodes that were asked, one per line, by the launch script
//
// SHA-256 (FIPS 180-4) by nettle.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/cluster/gather.h"

namespace dlroof::cluster_run {

// Returns an environment variable's value; empty: not set.
using Environment = std::function<std::string(const std::string& name)>;

// Returns name, known_by, engine, rank, job and place. The first of these that is set names the
// engine: SLURMD_NODENAME (with SLURM_PROCID), OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK,
// FLUX_TASK_RANK. The name is Slurm's, else `host`; of several tasks on one node with "-taskN".
// Returns the same of a process that has one of its node's GPUs where `per_gpu`: its name ends in
// "-gpuN", by its number on the node, and `gpu` is GpuOfTask's. Throws BadInput for a name that can
// be no file's, and for a process of a GPU whose launcher does not number a node's processes.
cluster::NodeFacts IdentifyNode(const Environment& environment, const std::string& host,
                                bool per_gpu = false);

// Returns the GPU that the node's process number `local` is to see, as CUDA_VISIBLE_DEVICES has it.
// A launcher that gave the process one has decided; of a longer list it is the process's entry,
// without a list its number. Throws BadInput for a list that is too short.
std::string GpuOfTask(const std::string& visible, const std::string& local);

// The same of this process, with the CPUs that it may use and those that are online.
cluster::NodeFacts ThisNode(bool per_gpu = false);

class NodeFolder {
 public:
  // `visit`: 0 is the first one.
  explicit NodeFolder(const std::filesystem::path& folder, int visit = 0);

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path Node(const std::string& name) const { return In("nodes", name + ".json"); }
  std::filesystem::path Run(const std::string& name) const { return In("runs", name + ".json"); }
  std::filesystem::path Facts(const std::string& name) const { return In("runs", name + ".node"); }
  std::filesystem::path Barriers(const std::string& name) const {
    return In("runs", name + ".meetings");
  }
  std::filesystem::path BarrierPlace() const { return folder_ / "meetings"; }
  // A further visit has its own, and so measures ceilings again.
  std::filesystem::path Cache(const std::string& name) const { return In("cache", name); }
  // dlroof_net writes it.
  std::filesystem::path Network() const { return folder_ / "network.json"; }
  std::filesystem::path Log(const std::string& name) const { return In("logs", name + ".log"); }

  // Makes the folders. Throws BadInput.
  void Make() const;

  // Returns the names in asked.txt, as NamesIn; absent: there is no such file.
  std::optional<std::vector<std::string>> Asked() const;
  // Returns the files in nodes/, and names of nodes that have begun and have no file there.
  std::vector<std::filesystem::path> NodeFiles() const;
  std::vector<std::string> Unfinished() const;
  // Returns the last line of network.log where network.json is not there; empty: nobody asked for a
  // network, or it is there.
  std::string WhyNoNetwork() const;
  // Returns the numbers of the further visits that there are, rising.
  std::vector<int> Visits() const;

 private:
  std::filesystem::path In(const char* folder, const std::string& file) const {
    return folder_ / folder / file;
  }

  std::filesystem::path folder_;
};

// Returns a file's lines, each once, without the empty ones. Throws BadInput for a line that is no
// node's name.
std::vector<std::string> NamesIn(const std::filesystem::path& path);

// Returns the lines of a node's meetings as an array, of each benchmark the last; empty: there is
// no file. A line that a kill cut off is passed over.
nlohmann::json ReadBarriers(const std::filesystem::path& path);

// Reads one node's file. A file that cannot count (half of it is there, of another version, of no
// node, of a node whose file is another one) is a failed node, with the sentence why.
cluster::NodeSummary ReadNodeFile(const std::filesystem::path& path);

// Returns whether the file is an unfinished node's.
bool IsJournal(const std::string& path);

// Reads what a node that is not finished has measured.
cluster::NodeSummary ReadUnfinished(const NodeFolder& folder, const std::string& name);

// Returns the run of a finished node's file, or of an unfinished node's journal.
record::RunFile ReadNodeRun(const std::string& path);

// Returns 64 hexadecimal digits, as sha256sum prints them.
std::string Sha256(std::string_view bytes);

}  // namespace dlroof::cluster_run
