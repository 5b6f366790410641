// Limits of this process that may make a measurement slow or wrong: quota of CPU time, allowed
// CPUs, priority, OpenMP's environment variables, huge pages.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/cpu/control_groups.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu {

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

// Facts from which FindLimits finds the limits.
struct LimitFacts {
  Cpu cpu;  // `allowed`, `topology`
  Environment environment;
  ReadText read;
  std::filesystem::path sysfs = "/sys", proc = "/proc";
  int nice = 0;
};

// Reads the facts of this process. `sysfs` is usually /sys.
LimitFacts FactsOfThisProcess(const std::filesystem::path& sysfs);

// Returns the quota of CPU time, or nullopt.
std::optional<CpuQuota> QuotaFrom(const LimitFacts& facts);

// Returns the limits that the facts show, in the order of LimitKind.
std::vector<Limit> FindLimits(const LimitFacts& facts);

// Returns the first variable that binds OpenMP's threads to CPUs before main, so that other CPUs
// appear to be forbidden; nullopt if none is set.
std::optional<std::string> PinningVariable(const Environment& environment);

// Returns the number of threads that OMP_THREAD_LIMIT allows, or nullopt if it is unset or not a
// positive number.
std::optional<int> OpenMpThreadLimit(const Environment& environment);

// Returns "the CPU quota of 0.5 CPUs (FILE)".
std::string QuotaText(const CpuQuota& quota);

}  // namespace dlroof::cpu
