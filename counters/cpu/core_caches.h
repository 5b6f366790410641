// The data caches of one core as CPUID and the kernel describe them, eviction of memory from all
// caches, and the share of a memory mapping that is on huge pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <istream>
#include <map>
#include <optional>
#include <vector>

#include "counters/cpu/cpu.h"

namespace dlroof::cpu {

// Returns the L1 and L2 capacity [byte] per core: the cache's size divided by the number of cores
// that share it. Levels that CPUID does not describe are missing. Reads CPUID leaf 4, or 0x8000001D
// on AMD (Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E.4), as libraries do; under a
// simulator the values describe the simulated CPU.
std::map<Level, double> CoreCaches(const Cpuid& cpuid);
std::map<Level, double> CoreCaches();  // of this CPU

// Returns the associativity of the data or unified cache of `level` that `cpu` uses, or nullopt if
// the kernel does not report it. `cpus` is the sysfs folder of the CPUs.
std::optional<int> CacheWays(Level level, int cpu,
                             const std::filesystem::path& cpus = "/sys/devices/system/cpu");

struct MemorySpan {
  const void* begin = nullptr;
  std::size_t bytes = 0;
};

inline constexpr std::size_t kCacheLineBytes = 64;
// Returns the number of cache lines that a span touches [1].
std::size_t LinesOf(const MemorySpan& span);

// Writes back and evicts each line of the spans from the caches of all CPUs (clflushopt, or clflush
// on older CPUs), and waits for completion. Unlike reading a large buffer, it evicts
// nothing else (library code, scratch memory, page tables). Returns the evicted bytes.
std::int64_t Evict(const std::vector<MemorySpan>& spans);

// Returns the share [1] of the resident bytes of the mapping around `address` that is on huge
// pages. `smaps` is the text of /proc/PID/smaps (proc(5)). Returns nullopt if no mapping contains
// the address or no byte of the mapping is resident.
std::optional<double> HugePageShare(std::istream& smaps, std::uintptr_t address);

// Returns the same share for a mapping of this process.
std::optional<double> HugePageShare(const void* address);

}  // namespace dlroof::cpu
