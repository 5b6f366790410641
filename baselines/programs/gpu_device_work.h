// What a trace has of one device, in its order. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "baselines/programs/gpu_timeline.h"
#include "counters/gpu_trace/read.h"

namespace dlroof::programs {

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

}  // namespace dlroof::programs
