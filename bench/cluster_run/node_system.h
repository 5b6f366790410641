// What a node's system tells beside the measurement: settings, a quota of CPU time, and the CPUs'
// time that the host of a virtual machine took.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "baselines/cluster/interference.h"
#include "counters/cpu/process_limits.h"

namespace dlroof::cluster_run {

// Returns "kernel", "microcode", "governor" and "clock limits" ("800 to 3600 MHz, boost on"), as
// far as the system tells. `sysfs` is usually /sys.
std::map<std::string, std::string> SystemOf(const std::filesystem::path& sysfs);

// Counts what happens from its construction on.
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

// Returns the share [1] of all CPUs' time that the host took between two texts of /proc/stat;
// nothing if they do not have it or no time passed.
std::optional<double> StealShare(std::string_view before, std::string_view after);

}  // namespace dlroof::cluster_run
