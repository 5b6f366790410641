// The data caches of one core as CPUID describes them: what a library that asks it believes, which
// under a simulator are those of the CPU that it pretends to be. Their associativity, as the kernel
// tells it.
#pragma once

#include <filesystem>
#include <map>

#include "counters/cpu/cpu.h"

namespace dlroof::cpu {

// [byte] of L1 and L2 per core: the size over the cores that share it. By leaf 4, or 0x8000001D of
// an AMD CPU (Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E.4). A level that CPUID does
// not describe is absent.
std::map<Level, double> CoreCaches(const Cpuid& cpuid);

// Returns the caches of the CPU that executes this.
std::map<Level, double> CoreCaches();

// Returns the lines that share a set of the data or unified cache of this level that the CPU uses,
// as the kernel says; 0 where it does not. `cpus` is the kernel's folder of CPUs, another one in
// tests.
int CacheWays(Level level, int cpu, const std::filesystem::path& cpus = "/sys/devices/system/cpu");

}  // namespace dlroof::cpu
