// The counter source "cupti" (NVIDIA's hardware counters), and calls with known work that validate
// the counters. Part of the CUDA module only.
#pragma once

#include <memory>
#include <vector>

#include "counters/gpu/counter.h"

namespace dlroof::cuda {

// Returns the calls with known work that this chip can run on the current device. They own their
// memory. Throws std::runtime_error if the device has too little memory.
std::vector<gpu::KnownCall> CuptiKnownCalls(const gpu::CuptiChip& chip);

// Returns the counter of CUDA device `device`. It opens the device on first use, and tests itself
// with CuptiKnownCalls.
std::shared_ptr<gpu::CuptiCounter> OpenCuptiCounter(int device);

// Returns the source "cupti". Call this once per process, as a GPU has one set of counters.
std::vector<CounterSource> CuptiSources(int device = 0);

}  // namespace dlroof::cuda
