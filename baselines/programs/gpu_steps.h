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
  std::string range;  // the NVTX range whose number decided (StepsFrom::kMarks)
};

// Returns the steps of a device: as many as `count` says, if it is known; else launches of a CUDA
// graph, or pieces of the stream that begin with one; else the period of the kernels.
//
// The program's NVTX ranges that mark steps are compared with what was found, as far as both reach
// (by the calls that launched the kernels, or without such by time):
// names with "step" or "iter" in them, numbers aside, and the modules that XLA executes. If the
// kernels repeat k times in each such range, k segments are one step (equal layers are not steps).
// Without such ranges the calls of PyTorch's outermost modules (`profile --gpu --torch`) decide in
// the same way. If the numbers contradict each other otherwise, `doubt` says so. It is also set
// where nothing but a short period is known: equal layers look like steps.
FoundGpuSteps FindGpuSteps(const gpu_trace::Trace& trace, const RangesAround& around,
                           const DeviceWork& work, std::size_t kernels, std::optional<int> count);

}  // namespace dlroof::programs
