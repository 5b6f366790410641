// The instructions and system calls behind counters/cpu.h, on Linux: cpuid_x86.cpp, or, on other
// CPUs, cpuid_other.cpp, which knows nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "counters/cpu/cpu.h"

namespace dlroof {

CpuidRegisters ExecuteCpuid(std::uint32_t leaf, std::uint32_t subleaf);

// XCR0; 0 when the system does not use XSAVE.
std::uint64_t EnabledRegisterStates();

// Asks the kernel for AMX tile data, for the whole process; false when there is none.
bool RequestAmxPermission();

// Ascending; empty when the kernel does not say.
std::vector<int> AllowedCpus();

}  // namespace dlroof
