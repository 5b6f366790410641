// The instructions behind counters/cache_eviction.h: cache_flush_x86.cpp, or cache_flush_other.cpp.
#pragma once

#include <cstddef>

namespace dlroof {

// Drops `lines` cache lines of 64 byte from `line` on, which begins one, from the caches of every
// CPU. Throws Unsupported on a CPU whose instruction for it this program does not know.
void FlushLines(const char* line, std::size_t lines);

// Waits until earlier writes are written back and flushed lines are gone.
void FlushFence();

}  // namespace dlroof
