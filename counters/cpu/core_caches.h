// The data caches of one core as CPUID describes them: what a library that asks it believes, which
// under a simulator are those of the CPU that it pretends to be.
#pragma once

#include <map>

#include "counters/cpu/cpu.h"

namespace dlroof {

// [byte] of L1 and L2 per core: the size over the cores that share it. By leaf 4, or 0x8000001D of
// an AMD CPU (Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E.4). A level that CPUID does
// not describe is absent.
std::map<Level, double> CoreCaches(const Cpuid& cpuid);

// Returns the caches of the CPU that executes this.
std::map<Level, double> CoreCaches();

}  // namespace dlroof
