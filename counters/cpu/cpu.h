// Identity of this CPU (name, usable features, topology, caches) and the memory of the system. The
// folders x86 and other implement the instructions and system calls at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "counters/work.h"

namespace dlroof::cpu {

struct CacheInstance {
  int id = 0;        // the same for all CPUs that share the cache
  double bytes = 0;  // [byte] capacity

  bool operator==(const CacheInstance&) const = default;
};

// A "CPU" is what the system schedules on (hwloc: PU), with the system's number. Facts that hwloc
// does not know are missing or 0.
struct Topology {
  int packages = 0, cores = 0, cpus = 0, numa_nodes = 0;
  std::map<int, int> core_of_cpu;
  std::map<int, int> node_of_cpu;  // NUMA node, with the system's number
  std::map<Level, std::map<int, CacheInstance>> cache_of_cpu;  // by level, then by CPU
};

struct Cpu {
  std::string vendor, name;  // "GenuineIntel"; the brand string
  unsigned family = 0, model = 0, stepping = 0;
  std::set<std::string> features;  // that the CPU has and whose registers the system saves
  Topology topology;
  std::vector<int> allowed;            // CPUs of this process's affinity mask, ascending
  std::optional<double> memory_bytes;  // [byte] of the whole system
};

// Leaves out unknown facts instead of throwing.
Cpu ThisCpu();

// Returns the facts of the machine's fingerprint, which change only with the hardware or the
// virtual machine. Keys begin with "cpu." or "topology.".
std::map<std::string, std::string> Facts(const Cpu& cpu);

// Returns the number of cores that the allowed CPUs belong to, or 0 if it is unknown.
int UsableCores(const Cpu& cpu);

// Returns `count` CPUs to pin threads to, in ascending order within each step: one CPU of each
// core, then a second one of each core, and so on. Throws std::invalid_argument if fewer are
// allowed.
std::vector<int> SpreadCpus(const Cpu& cpu, int count);

// How a set of CPUs shares the caches of a level.
struct CacheShare {
  double bytes = 0;        // [byte] the smallest cache that one of the CPUs uses
  int sharers = 1;         // the largest number of these CPUs on one cache
  double total_bytes = 0;  // [byte] sum over the caches in use
};
// Returns nullopt if the level's cache of any of the CPUs is unknown.
std::optional<CacheShare> ShareOf(const Topology& topology, Level level,
                                  const std::vector<int>& cpus);

// [byte] that this process may allocate without swapping or being killed: MemAvailable within the
// limits of its control groups (v1 and v2, with their parents) and of its address space
// (RLIMIT_AS).
std::optional<double> AvailableMemoryBytes();
// [byte] of the whole system. hwloc's sum over NUMA nodes omits memory that was hot-added.
std::optional<double> TotalMemoryBytes();

// --- The pure parts, for tests ---

struct CpuidRegisters {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};
using Cpuid = std::function<CpuidRegisters(std::uint32_t leaf, std::uint32_t subleaf)>;

// `enabled_states` is XCR0, the register states that the system saves, or 0 without XSAVE. AMX
// features require `amx_permitted`. Fills vendor, name, family, model, stepping and features.
Cpu CpuFromCpuid(const Cpuid& cpuid, std::uint64_t enabled_states, bool amx_permitted);

// [byte] Value of the line `key` ("MemAvailable") in the text of /proc/meminfo.
std::optional<double> ParseMeminfo(std::string_view meminfo, std::string_view key);

// A memory control group in the text of /proc/self/cgroup.
struct MemoryGroup {
  bool v2 = false;
  std::string path;  // begins with "/"

  bool operator==(const MemoryGroup&) const = default;
};
std::vector<MemoryGroup> ParseMemoryGroups(std::string_view cgroup);

// --- Access to the system and to instructions ---

// Includes CPUs that this process's control group does not allow, so that a container sees the
// machine's topology.
Topology ReadTopology();

CpuidRegisters ExecuteCpuid(std::uint32_t leaf, std::uint32_t subleaf);

// Returns XCR0, or 0 if the system does not use XSAVE.
std::uint64_t EnabledRegisterStates();

// Requests AMX tile data from the kernel for the whole process. Returns whether it was granted.
bool RequestAmxPermission();

// Evicts `lines` cache lines of 64 byte, the first of which begins at `line`, from the caches of
// all CPUs. Throws Unsupported on CPUs other than x86-64.
void FlushLines(const char* line, std::size_t lines);

// Waits until earlier writes and flushes have completed.
void FlushFence();

}  // namespace dlroof::cpu
