// Finds the steps in the work on a GPU. Pure.
#pragma once

#include <optional>
#include <string>

#include "baselines/programs/gpu_device_work.h"
#include "baselines/programs/gpu_ranges.h"
#include "baselines/programs/steps.h"
#include "counters/gpu_trace/read.h"

namespace dlroof::programs {

struct FoundGpuSteps {
  Steps steps;        // ranges are of DeviceWork::stream
  std::string range;  // the NVTX range with which they begin (StepsFrom::kMarks)
};

// Returns the steps of a device, by the first of these that there is: as many as `count` says; from
// NVTX range to NVTX range with "step" or "iter" in its name, or of a function that XLA executes
// (by the calls that launched the kernels); launches of the CUDA graph that has most kernels; from
// call to call of PyTorch's outermost module (`profile --gpu --torch`); RepeatedSteps.
FoundGpuSteps FindGpuSteps(const gpu_trace::Trace& trace, const RangesAround& around,
                           const DeviceWork& work, std::size_t kernels, std::optional<int> count);

}  // namespace dlroof::programs
