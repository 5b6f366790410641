// Description of this CPU (name, usable features, topology, caches) and of the system's memory.
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

#include "counters/base/work.h"

namespace dlroof::cpu {

struct CacheInstance {
  int id = 0;        // CPUs that share a cache have the same id
  double bytes = 0;  // [byte] capacity
  int ways = 0;      // associativity; 0: unknown, or full

  bool operator==(const CacheInstance&) const = default;
};

// A "CPU" is a hardware thread with the operating system's number. Unknown facts are missing or 0.
struct Topology {
  int packages = 0, cores = 0, cpus = 0, numa_nodes = 0;
  std::map<int, int> core_of_cpu;
  std::map<int, int> node_of_cpu;  // the operating system's number of the NUMA node
  std::map<Level, std::map<int, CacheInstance>> cache_of_cpu;  // by level, then by CPU
};

struct Cpu {
  std::string vendor, name;  // "GenuineIntel"; "Intel(R) Xeon(R) ..."
  unsigned family = 0, model = 0, stepping = 0;
  std::set<std::string> features;  // supported by the CPU and the operating system
  Topology topology;
  std::vector<int> allowed;            // CPUs in this process's affinity mask, ascending
  std::optional<double> memory_bytes;  // [byte] of the whole system
};

// Returns the description of this machine's CPU. Unknown properties are missing. Does not throw.
Cpu ThisCpu();

// Returns facts about the CPU for the machine's fingerprint. They change only with the hardware or
// the virtual machine. Keys begin with "cpu." or "topology.".
std::map<std::string, std::string> Facts(const Cpu& cpu);

std::optional<std::string> Microcode();

// Returns the number of cores that contain the allowed CPUs, or nullopt if it is unknown.
std::optional<int> UsableCores(const Cpu& cpu);

// Returns for each allowed CPU its index among the allowed hardware threads of its core, from 0.
std::map<int, int> IndicesInCores(const Cpu& cpu);

// Returns `count` CPUs to pin threads to: first one CPU of each core in ascending order, then a
// second one of each core, and so on. Throws std::invalid_argument if fewer CPUs are allowed.
std::vector<int> SpreadCpus(const Cpu& cpu, int count);

struct CacheShare {
  double bytes = 0;        // [byte] capacity of the smallest cache
  int sharers = 1;         // the largest number of `cpus` that share one cache
  double total_bytes = 0;  // [byte] capacity of all caches of `cpus` together
};
// Returns how `cpus` share the caches of `level`, or nullopt if one of the caches is unknown.
std::optional<CacheShare> ShareOf(const Topology& topology, Level level,
                                  const std::vector<int>& cpus);

// Returns the memory [byte] that this process can allocate without swapping or being killed:
// MemAvailable within the limits of its control groups (v1, v2, and parents) and of RLIMIT_AS.
// Returns nullopt if none of them is known.
std::optional<double> AvailableMemoryBytes();

// --- CPUID, kernel files, eviction of cache lines ---

struct CpuidRegisters {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};
using Cpuid = std::function<CpuidRegisters(std::uint32_t leaf, std::uint32_t subleaf)>;

// Returns vendor, name, family, model, stepping and features; the other fields are empty.
// `enabled_states` is XCR0, the register states that the operating system saves, or 0 without
// XSAVE. AMX features require `amx_permitted`.
Cpu CpuFromCpuid(const Cpuid& cpuid, std::uint64_t enabled_states, bool amx_permitted);

// Returns the value [byte] of a line of /proc/meminfo, "MemAvailable: 128 kB", or nullopt if it is
// missing.
std::optional<double> ParseMeminfo(std::string_view meminfo, std::string_view key);

// Returns the CPUs in a list of the form that the kernel writes in cpumask files, e.g. "0-3,8".
std::vector<int> CpuList(const std::string& text);

CpuidRegisters ExecuteCpuid(std::uint32_t leaf, std::uint32_t subleaf);

// Returns the L1 and L2 capacity [byte] per core: the cache's size divided by the number of cores
// that share it. Levels that CPUID does not describe are missing. Reads CPUID leaf 4, or 0x8000001D
// on AMD (Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E.4), as libraries do; under a
// simulator the values describe the simulated CPU.
std::map<Level, double> CoreCaches(const Cpuid& cpuid);
std::map<Level, double> CoreCaches();  // of this CPU

struct MemorySpan {
  const void* begin = nullptr;
  std::size_t bytes = 0;
};

inline constexpr std::size_t kCacheLineBytes = 64;
// Returns the number of cache lines that a span touches [1].
std::size_t LinesOf(const MemorySpan& span);

// Writes back and evicts each line of the spans from the caches of all CPUs (clflushopt, or clflush
// on older CPUs), and waits for completion. Unlike reading a large buffer, it evicts nothing else
// (library code, scratch memory, page tables). Returns the evicted bytes.
std::int64_t Evict(const std::vector<MemorySpan>& spans);

}  // namespace dlroof::cpu
