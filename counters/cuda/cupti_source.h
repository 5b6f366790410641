// NVIDIA's hardware counters as a source of counts, and the calls on which they prove themselves.
// Part of the CUDA module only.
#pragma once

#include <memory>
#include <vector>

#include "counters/cupti/counter.h"

namespace dlroof::cuda {

// Returns the calls of known work that this chip can run, on the current device. They hold their
// memory. Throws std::runtime_error when there is not enough.
std::vector<cupti::KnownCall> CuptiKnownCalls(const cupti::CuptiChip& chip);

// CUPTI itself on CUDA's device `device`, with the known kernels. Nothing is opened before it is
// used.
std::shared_ptr<cupti::CuptiCounter> OpenCuptiCounter(int device);

// The source "cupti". To be called once per process: the GPU's counters exist once. Where the
// environment has CUPTI_VALUES_FILE, everything is counted that the chip can count, and the raw
// values of known kernels and calls are written there: what tests on machines without a GPU decode
// again.
std::vector<CounterSource> CuptiSources(int device = 0);

}  // namespace dlroof::cuda
