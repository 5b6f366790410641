// The data caches of one core as CPUID and the kernel describe them, eviction of memory from all
// caches, and the share of a mapping on huge pages.
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

// [byte] of L1 and L2 per core: the size over the number of cores that share the cache, for the
// levels that CPUID describes. From leaf 4, or 0x8000001D on AMD (Intel SDM volume 2A, CPUID; AMD
// APM volume 3, appendix E.4). This is what a library sees that reads CPUID; under a simulator it
// describes the emulated CPU.
std::map<Level, double> CoreCaches(const Cpuid& cpuid);
std::map<Level, double> CoreCaches();  // of the CPU that executes this

// Returns the associativity of the CPU's data or unified cache of this level, if the kernel reports
// it. `cpus` is the kernel's folder of CPUs; tests pass another one.
std::optional<int> CacheWays(Level level, int cpu,
                             const std::filesystem::path& cpus = "/sys/devices/system/cpu");

struct MemorySpan {
  const void* begin = nullptr;
  std::size_t bytes = 0;
};

inline constexpr std::size_t kCacheLineBytes = 64;
// [1] Cache lines that a span touches.
std::size_t LinesOf(const MemorySpan& span);

// Writes back and evicts each line of the spans from the caches of all CPUs (x86-64: clflushopt, or
// clflush on older CPUs), and waits for completion. Unlike reading a large buffer this leaves
// everything else in the caches: the library's code, its scratch memory, page tables. Returns the
// bytes of the evicted lines. [byte]
std::int64_t Evict(const std::vector<MemorySpan>& spans);

// [1] Share of the resident bytes of the mapping around `address` that is on huge pages, from the
// text of `smaps` (proc(5)). Returns nullopt if no mapping contains the address or none of it is
// resident.
std::optional<double> HugePageShare(std::istream& smaps, std::uintptr_t address);

// The same for this process.
std::optional<double> HugePageShare(const void* address);

}  // namespace dlroof::cpu
