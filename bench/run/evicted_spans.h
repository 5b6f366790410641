// What a cold call on a CPU must not find in a cache.
#pragma once

#include <vector>

#include "bench/workload/workload.h"
#include "counters/cpu/cache_eviction.h"

namespace dlroof {

// All of the call's memory, or its weights alone, as `cache` says (not warm). Throws Unsupported
// where the call does not say where these lie.
std::vector<MemorySpan> EvictedSpans(const PreparedCall& call, CacheState cache);

}  // namespace dlroof
