// The data caches of one core as CPUID describes them: what a library that asks it believes, which
// under a simulator are those of the CPU that it pretends to be. Their associativity, as the kernel
// tells it.
//
// Takes memory out of every cache, so that the next access goes to DRAM.
//
// Memory on huge pages, and a check of it: the system may ignore the request.
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

// [byte] of L1 and L2 per core: the size over the cores that share it. By leaf 4, or 0x8000001D of
// an AMD CPU (Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E.4). A level that CPUID does
// not describe is absent.
std::map<Level, double> CoreCaches(const Cpuid& cpuid);

// Returns the caches of the CPU that executes this.
std::map<Level, double> CoreCaches();

// Returns the lines that share a set of the data or unified cache of this level that the CPU uses,
// as the kernel says; 0 where it does not. `cpus` is the kernel's folder of CPUs, another one in
// tests.
int CacheWays(Level level, int cpu, const std::filesystem::path& cpus = "/sys/devices/system/cpu");

struct MemorySpan {
  const void* begin = nullptr;
  std::size_t bytes = 0;
};

// Cache lines that a span touches, of kCacheLineBytes each.
inline constexpr std::size_t kCacheLineBytes = 64;
std::size_t LinesOf(const MemorySpan& span);

// Writes back and drops each line of the spans from the caches of all CPUs (clflushopt, or clflush
// where the CPU lacks it; x86-64), and waits until that is done. Unlike reading a large buffer it
// leaves everything else where it was: the library's code, its scratch memory, page tables.
// Returns the bytes of the lines it dropped. [byte]
std::int64_t Evict(const std::vector<MemorySpan>& spans);

// [1] share of the resident bytes of the mapping around `address` that lie on huge pages, by
// `smaps` (proc(5)). Absent where no mapping holds the address, nothing of it is resident or the
// text is another.
std::optional<double> HugePageShare(std::istream& smaps, std::uintptr_t address);

// The same of this process; absent also where the system has no such file.
std::optional<double> HugePageShare(const void* address);

}  // namespace dlroof::cpu
