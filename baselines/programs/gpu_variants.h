// Tells apart launches that have the same name, grid and block, but do different work. Pure.
#pragma once

#include "baselines/programs/gpu_device_work.h"
#include "baselines/programs/steps.h"

namespace dlroof::programs {

// Gives a row of their own (GpuKernelUse::variant) to launches of one name, grid and block whose
// places in a step take different times: persistent kernels have as many blocks as the GPU has SMs,
// whatever the matrices' sizes, and a count of one of them is not the count of another. The time of
// a place is its median over the steps, at least three. Places whose times differ by
// more than 10 % and 0.5 us are of different kinds; if at some place a quarter of the launches are
// nearer to another kind, the times vary by chance, and the row stays whole. Launches outside of
// the steps belong to the nearest kind.
void SplitByTime(const Steps& steps, DeviceWork& work, GpuTimeline& timeline);

}  // namespace dlroof::programs
