// The control groups (versions 1 and 2) of this process: their folders and quota of CPU time.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::cpu {

// Returns the text of a file, or an empty text if it cannot be read.
using ReadText = std::function<std::string(const std::filesystem::path&)>;

struct ControlGroup {
  bool v2 = false;
  std::string path;  // begins with "/"

  bool operator==(const ControlGroup&) const = default;
};

// Returns the groups in the text of /proc/self/cgroup that may limit the resource of `controller`
// ("cpu", "cpuset", "memory"): the version 1 group with this controller, and the version 2 group.
std::vector<ControlGroup> ParseControlGroups(std::string_view cgroup, std::string_view controller);

// A folder with the files of a group.
struct GroupFolder {
  bool v2 = false;
  std::filesystem::path path;

  bool operator==(const GroupFolder&) const = default;
};

// Returns the folders of a group and its parents below the sysfs tree `sysfs`, the outermost first.
// The first folder is the mount point. In a container the group's path may not exist below it; then
// the mount point itself is the group's folder.
std::vector<GroupFolder> FoldersOf(const ControlGroup& group, std::string_view controller,
                                   const std::filesystem::path& sysfs);

// A limit of the CPU time of all threads together (docker --cpus, a pod's limits.cpu).
struct CpuQuota {
  double cpus = 0;             // [1] CPU time per wall time
  double period_seconds = 0;   // [s] after this period throttled threads may run again
  std::filesystem::path file;  // file with the quota
  std::filesystem::path stat;  // cpu.stat in the same folder

  bool operator==(const CpuQuota&) const = default;
};

// Returns the smallest quota of this process's groups and their parents, or nullopt if none has a
// quota. `cgroup` is the text of /proc/self/cgroup.
std::optional<CpuQuota> SmallestQuota(std::string_view cgroup, const std::filesystem::path& sysfs,
                                      const ReadText& read);

// How often a quota stopped the threads of its group, since the group exists.
struct Throttling {
  double periods = 0, throttled = 0;  // [1] periods in which a thread ran; in which it was stopped
  double seconds = 0;                 // [s] in which threads were stopped, summed over the CPUs

  bool operator==(const Throttling&) const = default;
};
Throttling operator-(const Throttling& end, const Throttling& begin);
Throttling operator+(const Throttling& first, const Throttling& other);

// Returns the counts in the text of cpu.stat, or nullopt if it has none (as the outermost group's).
std::optional<Throttling> ParseThrottling(std::string_view cpu_stat);

}  // namespace dlroof::cpu
