#include "counters/cache_eviction.h"

#include <immintrin.h>

#include "counters/cpuid.h"

namespace dlroof {
namespace {

std::size_t OffsetInLine(const MemorySpan& span) {
  return reinterpret_cast<std::uintptr_t>(span.begin) % kCacheLineBytes;
}

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

std::size_t LinesOf(const MemorySpan& span) {
  if (span.bytes == 0) return 0;
  return (OffsetInLine(span) + span.bytes + kCacheLineBytes - 1) / kCacheLineBytes;
}

std::int64_t Evict(const std::vector<MemorySpan>& spans) {
  static const auto drop = HasClflushopt() ? DropOverlapping : Drop;
  std::int64_t bytes = 0;
  _mm_mfence();  // what was written before is written back too
  for (const auto& span : spans) {
    drop(static_cast<const char*>(span.begin) - OffsetInLine(span), LinesOf(span));
    bytes += static_cast<std::int64_t>(LinesOf(span) * kCacheLineBytes);
  }
  _mm_mfence();
  return bytes;
}

}  // namespace dlroof
