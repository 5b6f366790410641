// Limits of this process that may make a measurement slow or wrong: quota of CPU time, allowed
// CPUs, priority, OpenMP's environment variables, huge pages.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/cpu/cpu.h"

namespace dlroof::cpu {

// Returns the text of a file, or an empty text if it cannot be read.
using ReadText = std::function<std::string(const std::filesystem::path&)>;

struct GroupFolder {
  bool v2 = false;
  std::filesystem::path path;

  bool operator==(const GroupFolder&) const = default;
};

// Returns the folders, below the sysfs tree `sysfs`, of the groups that may limit the resource of
// `controller` ("cpu", "cpuset", "memory"), and of their parents: those of the version 1 group with
// this controller and of the version 2 group, the outermost first. The first folder of a group is
// the mount point. In a container the group's path may not exist below it; then the mount point
// itself is the group's folder. `cgroup` is the text of /proc/self/cgroup.
std::vector<GroupFolder> GroupFolders(std::string_view cgroup, std::string_view controller,
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

// How often a quota stopped the threads of its group, since the group was created.
struct Throttling {
  double periods = 0, throttled = 0;  // [1] periods with running threads; with stopped threads

  bool operator==(const Throttling&) const = default;
};
Throttling operator-(const Throttling& end, const Throttling& begin);
Throttling operator+(const Throttling& first, const Throttling& other);

// Returns the counts in the text of cpu.stat, or nullopt if it has none, e.g. of the root group.
std::optional<Throttling> ParseThrottling(std::string_view cpu_stat);

enum class LimitKind {
  kCpuQuota,   // all threads together get less CPU time than they could use
  kCpus,       // this process may not use every CPU
  kPriority,   // low priority: other programs run first
  kPinning,    // a variable that binds threads before the program begins
  kThreads,    // OpenMP gives fewer threads than CPUs
  kHugePages,  // no transparent huge pages
};
std::string_view Key(LimitKind kind);

struct Limit {
  LimitKind kind;
  std::string found;   // what was found, and where: "0.5 CPUs (/sys/fs/cgroup/cpu.max)"
  std::string effect;  // what it does to measurements, and what to do about it

  bool operator==(const Limit&) const = default;
};

// Returns the value of an environment variable, or nullopt if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& variable)>;
Environment ProcessEnvironment();

struct LimitFacts {
  Cpu cpu;  // of which only `allowed` and `topology` are read
  Environment environment;
  ReadText read;
  std::filesystem::path sysfs = "/sys", proc = "/proc";
  int nice = 0;
};

LimitFacts FactsOfThisProcess(const std::filesystem::path& sysfs);

std::optional<CpuQuota> QuotaFrom(const LimitFacts& facts);

// Returns the limits that the facts show, in the order of LimitKind.
std::vector<Limit> FindLimits(const LimitFacts& facts);

// Returns the name of the first environment variable that makes OpenMP bind the program to CPUs
// before main, so that other CPUs appear to be forbidden. Returns nullopt if none is set.
std::optional<std::string> PinningVariable(const Environment& environment);

// Returns the threads that OMP_THREAD_LIMIT allows, or nullopt if it is no positive number.
std::optional<int> OpenMpThreadLimit(const Environment& environment);

// Returns "the CPU quota of 0.5 CPUs (FILE)".
std::string QuotaText(const CpuQuota& quota);

}  // namespace dlroof::cpu
