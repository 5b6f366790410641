// The instructions and system calls behind cpu.h and cache_eviction.h, on Linux: those of x86, or
// other/other_cpu.cpp, which knows nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/cpu/cpu.h"

namespace dlroof::cpu {

CpuidRegisters ExecuteCpuid(std::uint32_t leaf, std::uint32_t subleaf);

// XCR0; 0 when the system does not use XSAVE.
std::uint64_t EnabledRegisterStates();

// Asks the kernel for AMX tile data, for the whole process; false when there is none.
bool RequestAmxPermission();

// Drops `lines` cache lines of 64 byte from `line` on, which begins one, from the caches of every
// CPU. Throws Unsupported on a CPU whose instruction for it this program does not know.
void FlushLines(const char* line, std::size_t lines);

// Waits until earlier writes are written back and flushed lines are gone.
void FlushFence();

}  // namespace dlroof::cpu
