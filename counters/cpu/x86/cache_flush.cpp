#include "counters/cpu/cache_flush.h"

#include <immintrin.h>

#include "counters/cpu/cache_eviction.h"
#include "counters/cpu/cpuid.h"

namespace dlroof {
namespace {

bool HasClflushopt() {
  constexpr std::uint32_t kBit = 1U << 23;  // leaf 7, EBX: Intel SDM volume 2A, CPUID
  return ExecuteCpuid(0, 0).eax >= 7 && (ExecuteCpuid(7, 0).ebx & kBit) != 0;
}

// Flushes of one CPU overlap; a fence after the last one waits for all.
__attribute__((target("clflushopt"))) void DropOverlapping(const char* line, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i)
    _mm_clflushopt(const_cast<char*>(line + i * kCacheLineBytes));  // only reads its address
}

void Drop(const char* line, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i) _mm_clflush(line + i * kCacheLineBytes);
}

}  // namespace

void FlushLines(const char* line, std::size_t lines) {
  static const auto drop = HasClflushopt() ? DropOverlapping : Drop;
  drop(line, lines);
}

void FlushFence() { _mm_mfence(); }

}  // namespace dlroof
