#include <sched.h>

#include <cerrno>
#include <cstddef>
#include <memory>

#include "counters/cpu/cpuid.h"

namespace dlroof {

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
