#include "bench/host_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include "counters/error.h"

namespace dlroof {

void RequireHostMemory(double bytes, std::string_view what) {
  const double physical =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes > physical)
    throw Unsupported(fmt::format("{} needs {:.3g} GB of memory, this machine has {:.3g} GB", what,
                                  bytes / 1e9, physical / 1e9));
}

}  // namespace dlroof
