// The calls on which CUPTI's counters prove themselves. Part of the CUDA module only.
#pragma once

#include <vector>

#include "counters/cupti/self_test.h"
#include "counters/cupti/table.h"

namespace dlroof {

// Those that this chip can run, on the current device. They hold their memory. Throws
// std::runtime_error when there is not enough.
std::vector<KnownCall> CuptiKnownCalls(const CuptiChip& chip);

}  // namespace dlroof
