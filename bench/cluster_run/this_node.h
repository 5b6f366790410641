// The node on which this process runs: its name, from the launcher's environment variables, its
// system's settings, and during the run throttling by a CPU quota and steal time.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "baselines/cluster/gather.h"
#include "counters/cpu/process_limits.h"

namespace dlroof::cluster_run {

// Returns an environment variable's value, or "" if it is not set.
using Environment = std::function<std::string(const std::string& name)>;

// Returns the node's name, known_by, engine, rank, job and place. The first of these variables that
// is set determines the engine: SLURMD_NODENAME (with SLURM_PROCID), OMPI_COMM_WORLD_RANK,
// PMIX_RANK, PMI_RANK, FLUX_TASK_RANK. The name is Slurm's node name or `host`, with "-taskN" if a
// node has several tasks. With `per_gpu`, one process per GPU, the name ends in "-gpuN", where N is
// the process's number on the node, and `gpu` is set by GpuOfTask. Throws BadInput if the name
// cannot be a file name, and with `per_gpu` if the launcher does not number a node's processes.
cluster::NodeFacts IdentifyNode(const Environment& environment, const std::string& host,
                                bool per_gpu = false);

// Returns the value of CUDA_VISIBLE_DEVICES for the node's process number `local`: the only GPU in
// `visible` (the launcher's value), entry number `local` of a longer list, or `local` if there is
// no list. Throws BadInput for a list that is too short.
std::string GpuOfTask(const std::string& visible, const std::string& local);

// Returns IdentifyNode of this process, with the CPUs that it may use and those that are online.
cluster::NodeFacts ThisNode(bool per_gpu = false);

// Returns "kernel", "microcode", "governor" and "clock limits" ("800 to 3600 MHz, boost on"), if
// the system reports them. `sysfs` is usually /sys.
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

// Returns steal time / all CPUs' time [1] between two texts of /proc/stat. Returns nullopt if it is
// not reported or no time has passed.
std::optional<double> StealShare(std::string_view before, std::string_view after);

}  // namespace dlroof::cluster_run
