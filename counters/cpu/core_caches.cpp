#include <immintrin.h>

#include <algorithm>

#include "counters/cpu/cpu.h"

namespace dlroof::cpu {
namespace {

constexpr std::uint32_t kIntelCaches = 4, kAmdCaches = 0x8000001D, kTopology = 0xB;
constexpr std::uint32_t kData = 1, kUnified = 3;

std::uint32_t ThreadsOfCore(const Cpuid& cpuid) {
  if (cpuid(0, 0).eax < kTopology) return 1;
  const CpuidRegisters level = cpuid(kTopology, 0);
  const bool of_threads = (level.ecx >> 8 & 0xFF) == 1;
  return of_threads ? std::max(1U, level.ebx & 0xFFFF) : 1;
}

std::size_t OffsetInLine(const MemorySpan& span) {
  return reinterpret_cast<std::uintptr_t>(span.begin) % kCacheLineBytes;
}

bool HasClflushopt() {
  constexpr std::uint32_t kBit = 1U << 23;  // clflushopt: CPUID leaf 7, EBX (Intel SDM volume 2A)
  return ExecuteCpuid(0, 0).eax >= 7 && (ExecuteCpuid(7, 0).ebx & kBit) != 0;
}

// Evicts the lines with clflushopt instructions, which overlap. The caller must execute a fence.
__attribute__((target("clflushopt"))) void DropOverlapping(const char* line, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i)
    _mm_clflushopt(const_cast<char*>(line + i * kCacheLineBytes));  // does not modify the data
}

void Drop(const char* line, std::size_t lines) {
  for (std::size_t i = 0; i < lines; ++i) _mm_clflush(line + i * kCacheLineBytes);
}

}  // namespace

std::map<Level, double> CoreCaches(const Cpuid& cpuid) {
  std::map<Level, double> caches;
  const bool intel = cpuid(0, 0).eax >= kIntelCaches && (cpuid(kIntelCaches, 0).eax & 0x1F) != 0;
  if (!intel && cpuid(0x80000000, 0).eax < kAmdCaches) return caches;
  const std::uint32_t leaf = intel ? kIntelCaches : kAmdCaches;
  for (std::uint32_t i = 0; i < 8; ++i) {
    const CpuidRegisters cache = cpuid(leaf, i);
    const std::uint32_t type = cache.eax & 0x1F, level = cache.eax >> 5 & 7;
    if (type == 0) break;
    if ((type != kData && type != kUnified) || level < 1 || level > 2) continue;
    const double bytes = ((cache.ebx >> 22) + 1.0) * ((cache.ebx >> 12 & 0x3FF) + 1.0) *
                         ((cache.ebx & 0xFFF) + 1.0) * (cache.ecx + 1.0);
    const std::uint32_t threads = (cache.eax >> 14 & 0xFFF) + 1;
    caches[level == 1 ? Level::kL1 : Level::kL2] =
        bytes / std::max(1U, threads / ThreadsOfCore(cpuid));
  }
  return caches;
}

std::map<Level, double> CoreCaches() { return CoreCaches(ExecuteCpuid); }

std::size_t LinesOf(const MemorySpan& span) {
  if (span.bytes == 0) return 0;
  return (OffsetInLine(span) + span.bytes + kCacheLineBytes - 1) / kCacheLineBytes;
}

std::int64_t Evict(const std::vector<MemorySpan>& spans) {
  static const auto drop = HasClflushopt() ? DropOverlapping : Drop;
  std::int64_t bytes = 0;
  _mm_mfence();  // waits for earlier writes
  for (const auto& span : spans) {
    drop(static_cast<const char*>(span.begin) - OffsetInLine(span), LinesOf(span));
    bytes += static_cast<std::int64_t>(LinesOf(span) * kCacheLineBytes);
  }
  _mm_mfence();
  return bytes;
}

}  // namespace dlroof::cpu
