// Identity of this CPU: its name, the features that it and the system allow, its caches.
//
// The instructions and system calls behind cpu.h and cache_eviction.h, on Linux: those of x86, or
// other/other_cpu.cpp, which knows nothing.
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
  int id = 0;        // equal for all CPUs that share it
  double bytes = 0;  // [byte] capacity

  bool operator==(const CacheInstance&) const = default;
};

// A "CPU" is what the system schedules on (hwloc: PU), numbered as the system does. Facts unknown
// to hwloc are absent or 0.
struct Topology {
  int packages = 0, cores = 0, cpus = 0, numa_nodes = 0;
  std::map<int, int> core_of_cpu;
  std::map<int, int> node_of_cpu;  // NUMA node, numbered as the system does
  std::map<Level, std::map<int, CacheInstance>> cache_of_cpu;  // by level, then by CPU
};

struct Cpu {
  std::string vendor, name;  // "GenuineIntel"; the brand string
  unsigned family = 0, model = 0, stepping = 0;
  std::set<std::string> features;  // usable here: the CPU has it and the system saves its registers
  Topology topology;
  std::vector<int> allowed;            // CPUs of our affinity mask, ascending
  std::optional<double> memory_bytes;  // [byte] total, as the kernel says
};

// Never throws for missing information; it is absent.
Cpu ThisCpu();

// Returns the facts that stay the same until the hardware or the virtual machine changes. Keys
// begin with "cpu." or "topology.". The fingerprint is made of them.
std::map<std::string, std::string> Facts(const Cpu& cpu);

// Cores that the allowed CPUs belong to; 0 where the system does not tell.
int UsableCores(const Cpu& cpu);

// The `count` CPUs to pin threads to: one per core before a second of any core, then in ascending
// order. Throws std::invalid_argument when fewer are allowed.
std::vector<int> SpreadCpus(const Cpu& cpu, int count);

// Capacity of the level's caches as these CPUs share them.
struct CacheShare {
  double bytes = 0;        // [byte] the smallest cache that one of the CPUs uses
  int sharers = 1;         // the most of these CPUs on one cache
  double total_bytes = 0;  // [byte] sum over the caches in use
};
// Absent when any of the CPUs has no such cache, or it is not known.
std::optional<CacheShare> ShareOf(const Topology& topology, Level level,
                                  const std::vector<int>& cpus);

// [byte] that may be allocated without swapping or being killed: what the system calls available,
// within the limits of our control groups (v1 and v2, with their parents) and of our address space
// (RLIMIT_AS). Absent when unknown.
std::optional<double> AvailableMemoryBytes();
// [byte] of the whole system; hwloc's sum over NUMA nodes misses memory that was added later.
std::optional<double> TotalMemoryBytes();

// --- The pure parts, for tests ---

struct CpuidRegisters {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};
using Cpuid = std::function<CpuidRegisters(std::uint32_t leaf, std::uint32_t subleaf)>;

// `enabled_states` is XCR0 (register states that the system saves; 0 without XSAVE); AMX counts
// only with `amx_permitted`. Fills vendor, name, family, model, stepping and features.
Cpu CpuFromCpuid(const Cpuid& cpuid, std::uint64_t enabled_states, bool amx_permitted);

// [byte] of the line `key` ("MemAvailable") in /proc/meminfo's text; absent when there is none.
std::optional<double> ParseMeminfo(std::string_view meminfo, std::string_view key);

// The memory control groups that /proc/self/cgroup's text names: {"v1" or "v2", path}.
struct MemoryGroup {
  bool v2 = false;
  std::string path;  // begins with "/"

  bool operator==(const MemoryGroup&) const = default;
};
std::vector<MemoryGroup> ParseMemoryGroups(std::string_view cgroup);

// --- The edges ---

// counters/cpu/cpu.cpp; includes CPUs that our control group does not allow, so that a
// container sees the machine's topology.
Topology ReadTopology();

CpuidRegisters ExecuteCpuid(std::uint32_t leaf, std::uint32_t subleaf);

// XCR0; 0 when the system does not use XSAVE.
std::uint64_t EnabledRegisterStates();

// Asks the kernel for AMX tile data, for the whole process; false when there is none.
bool RequestAmxPermission();

// Drops `lines` cache lines of 64 byte from `line` on, which begins one, from the caches of every
// CPU. Throws Unsupported on a CPU whose instruction for it this program does not know.
void FlushLines(const char* line, std::size_t lines);

// Waits until earlier writes are written back and flushed lines are gone.
void FlushFence();

}  // namespace dlroof::cpu
