#include "counters/cpu/instructions.h"

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counters/cpu/cache_eviction.h"

namespace dlroof::cpu {
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

CpuidRegisters ExecuteCpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  CpuidRegisters words;
  __cpuid_count(leaf, subleaf, words.eax, words.ebx, words.ecx, words.edx);
  return words;
}

std::uint64_t EnabledRegisterStates() {
  constexpr std::uint32_t kOsxsave = 1U << 27;
  if ((ExecuteCpuid(1, 0).ecx & kOsxsave) == 0) return 0;
  std::uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

bool RequestAmxPermission() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

void FlushLines(const char* line, std::size_t lines) {
  static const auto drop = HasClflushopt() ? DropOverlapping : Drop;
  drop(line, lines);
}

void FlushFence() { _mm_mfence(); }

}  // namespace dlroof::cpu
