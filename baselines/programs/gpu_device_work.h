// What a trace has of one device, in its order, and the steps in it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "baselines/programs/gpu_timeline.h"
#include "baselines/programs/steps.h"
#include "counters/gpu_trace/read.h"

namespace dlroof::programs {

class RangesAround;

// A kernel, a copy or a fill on the device.
struct DeviceTask {
  enum class Sort { kKernel, kCopy, kFill };

  gpu_trace::Interval time;
  Sort sort = Sort::kKernel;
  std::uint32_t index = 0;   // kernel: of GpuTimeline::kernels; copy: of Trace::copies
  std::uint32_t launch = 0;  // kernel: of Trace::launches
  std::uint32_t context = 0, stream = 0;
  std::optional<std::uint32_t> graph;  // the CUDA graph that launched the kernel
  std::uint64_t graph_node = 0;        // its node in the graph
};

struct DeviceWork {
  std::vector<DeviceTask> all;             // by begin
  std::vector<std::uint32_t> stream;       // the kernel of each launch, in order
  std::vector<std::size_t> launch_places;  // of each launch in `all`

  const DeviceTask& Launch(std::size_t launch) const { return all[launch_places[launch]]; }
};

inline double Seconds(std::int64_t ns) { return 1e-9 * static_cast<double>(ns); }

// Returns the device's work. Adds a row of `timeline` for each name, grid and block, and counts the
// timeline's launches, copies and fills.
DeviceWork WorkOn(const gpu_trace::Trace& trace, std::uint32_t device, GpuTimeline& timeline);

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

// Gives a row of their own (GpuKernelUse::variant) to launches of one name, grid and block whose
// places in a step take different times: persistent kernels have as many blocks as the GPU has SMs,
// whatever the matrices' sizes, and a count of one of them is not the count of another. The time of
// a place is its median over the steps, at least three. Places whose times differ by
// more than 10 % and 0.5 us are of different kinds; if at some place a quarter of the launches are
// nearer to another kind, the times vary by chance, and the row stays whole. Launches outside of
// the steps belong to the nearest kind.
void SplitByTime(const Steps& steps, DeviceWork& work, GpuTimeline& timeline);

}  // namespace dlroof::programs
