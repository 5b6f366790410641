#include "bench/workload/host_memory.h"

#include "counters/base/error.h"
#include "counters/cpu/cpu.h"

namespace dlroof {

void RequireHostMemory(double bytes, std::string_view what) {
  const auto available = AvailableMemoryBytes();
  if (available && bytes > *available)
    throw Unsupported("{} needs {:.3g} GB of memory, {:.3g} GB can be allocated here", what,
                      bytes / 1e9, *available / 1e9);
}

}  // namespace dlroof
