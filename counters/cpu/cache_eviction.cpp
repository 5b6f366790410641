#include "counters/cpu/cache_eviction.h"

#include "counters/cpu/instructions.h"

namespace dlroof::cpu {
namespace {

std::size_t OffsetInLine(const MemorySpan& span) {
  return reinterpret_cast<std::uintptr_t>(span.begin) % kCacheLineBytes;
}

}  // namespace

std::size_t LinesOf(const MemorySpan& span) {
  if (span.bytes == 0) return 0;
  return (OffsetInLine(span) + span.bytes + kCacheLineBytes - 1) / kCacheLineBytes;
}

std::int64_t Evict(const std::vector<MemorySpan>& spans) {
  std::int64_t bytes = 0;
  FlushFence();  // what was written before is written back too
  for (const auto& span : spans) {
    FlushLines(static_cast<const char*>(span.begin) - OffsetInLine(span), LinesOf(span));
    bytes += static_cast<std::int64_t>(LinesOf(span) * kCacheLineBytes);
  }
  FlushFence();
  return bytes;
}

}  // namespace dlroof::cpu
