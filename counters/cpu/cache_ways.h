// Associativity: lines of a cache that share a set.
#pragma once

#include <filesystem>

#include "counters/work.h"

namespace dlroof {

// [1] of the data or unified cache of this level that the CPU uses, as the kernel says; 0 where it
// does not. `cpus` is the kernel's folder of CPUs, another one in tests.
int CacheWays(Level level, int cpu, const std::filesystem::path& cpus = "/sys/devices/system/cpu");

}  // namespace dlroof
