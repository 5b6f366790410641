// NVIDIA's hardware counters as the counter source "cupti", and the calls of known work that
// validate them. Part of the CUDA module only.
#pragma once

#include <memory>
#include <vector>

#include "counters/cupti/counter.h"

namespace dlroof::cuda {

// Returns the calls of known work that this chip can run on the current device. They own their
// memory. Throws std::runtime_error if there is not enough.
std::vector<cupti::KnownCall> CuptiKnownCalls(const cupti::CuptiChip& chip);

// Returns the counter of CUDA's device `device`, with the known kernels. It opens the device on
// first use.
std::shared_ptr<cupti::CuptiCounter> OpenCuptiCounter(int device);

// Returns the source "cupti". Call it once per process, as a GPU has one set of counters. If the
// environment variable CUPTI_VALUES_FILE is set, the source counts everything that the chip can
// count and writes the raw values to that file, for tests on machines without a GPU.
std::vector<CounterSource> CuptiSources(int device = 0);

}  // namespace dlroof::cuda
