#include "counters/cpu/cpuid.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dlroof {

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

}  // namespace dlroof
