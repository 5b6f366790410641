// Takes memory out of every cache, so that the next access goes to DRAM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dlroof::cpu {

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

}  // namespace dlroof::cpu
