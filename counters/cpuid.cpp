#include "counters/cpuid.h"

#include <cpuid.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <memory>

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

std::vector<int> AllowedCpus() {
  // The kernel refuses a mask smaller than its own, whose size it does not tell.
  for (int most = CPU_SETSIZE; most <= (1 << 20); most *= 2) {
    const std::size_t size = CPU_ALLOC_SIZE(most);
    const auto free_set = [](cpu_set_t* set) { CPU_FREE(set); };
    const std::unique_ptr<cpu_set_t, decltype(free_set)> set(CPU_ALLOC(most), free_set);
    if (!set) return {};
    if (sched_getaffinity(0, size, set.get()) == 0) {
      std::vector<int> cpus;
      for (int cpu = 0; cpu < most; ++cpu)
        if (CPU_ISSET_S(cpu, size, set.get())) cpus.push_back(cpu);
      return cpus;
    }
    if (errno != EINVAL) return {};
  }
  return {};
}

}  // namespace dlroof
