// What a trace has of one device, in its order; the NVTX ranges around it, and its steps. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "baselines/programs/gpu_timeline.h"
#include "baselines/programs/steps.h"
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
  std::uint32_t graph = 0;  // CUPTI's number of the CUDA graph that launched it; 0: none
  std::uint32_t call = 0;   // number of the call of CUDA that launched it, or its graph
};

struct DeviceWork {
  std::vector<DeviceTask> all;             // by begin
  std::vector<std::uint32_t> stream;       // the kernel of each launch, in order
  std::vector<std::size_t> launch_places;  // of each launch in `all`

  const DeviceTask& Launch(std::size_t launch) const { return all[launch_places[launch]]; }
};

inline double Seconds(std::int64_t ns) { return 1e-9 * static_cast<double>(ns); }
inline double Seconds(const gpu_trace::Interval& time) {
  return Seconds(time.end_ns - time.begin_ns);
}

// Returns the device's work. Adds a row of `timeline` for each name, grid and block, and counts the
// timeline's launches, copies and fills.
DeviceWork WorkOn(const gpu_trace::Trace& trace, std::uint32_t device, GpuTimeline& timeline);

using LaunchRange = std::pair<std::size_t, std::size_t>;  // launches [first, second)

// Returns the name of a range without what differs from call to call: the numbers of ranges that
// mark steps ("step *"), and the numbers that PyTorch's emit_nvtx gives to operators.
std::string RangeName(const std::string& name);

// Returns whether the name says that the range is a step ("step", "iter").
bool NamesStep(const std::string& name);

// Returns whether PyTorch's emit_nvtx gave the range its name: "aten::conv2d, seq = 2, op_id = 7".
bool IsOperatorRange(const std::string& name);

// The NVTX ranges around each range and each call of CUDA, on its thread.
class RangesAround {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // `trace` must outlive this. Time: n log n in its ranges and calls.
  explicit RangesAround(const gpu_trace::Trace& trace);

  // Returns the innermost range (index of Trace::ranges) in which the launch, an index of
  // Trace::launches, was called for; kNone if there is none, or the call was not recorded.
  std::uint32_t OfLaunch(std::size_t launch) const;
  // Returns whether the call of any of these launches was recorded.
  bool KnowsCalls(const DeviceWork& work) const;
  // Returns the innermost range around a range, or kNone. At most 64 are around one another.
  std::uint32_t OfRange(std::uint32_t range) const { return of_range_[range]; }

 private:
  // Returns the index of the call that launched it, or kNone.
  std::uint32_t CallOf(std::size_t launch) const;

  const gpu_trace::Trace& trace_;
  std::vector<std::uint32_t> of_range_, of_call_;
};

// What RangeWorkOf returns.
struct RangeWork {
  std::vector<GpuRangeWork> rows;
  int steps = 0;  // [1] that have ranges
};

// Sums kernel time per NVTX range. A launch belongs to the innermost range that is open on its CPU
// thread at its CUDA API call. `steps` are half-open ranges of indices into the launches of `work`,
// `kernels` the kernels of `work`. Rows are a tree in pre-order, siblings by descending time; the
// last row has the launches outside any range. Sums are per step that has ranges: a program may
// mark a few of its steps. At most kMaxRangeRows rows, those with most time. Returns no rows if no
// launch was in a range, or the trace has no API calls. Takes n log n for n ranges and calls.
//
// Ranges of PyTorch (`profile --gpu --torch`, emit_nvtx): operators in a module, and within other
// operators, are no rows of their own, and neither are libraries' ranges in operators. A backward
// operator belongs to the module of the forward one with the same number ("seq"), under a row
// "backward".
RangeWork RangeWorkOf(const gpu_trace::Trace& trace, const RangesAround& around,
                      const DeviceWork& work, const std::vector<GpuKernelUse>& kernels,
                      std::span<const LaunchRange> steps);
inline constexpr std::size_t kMaxRangeRows = 1000;

struct FoundGpuSteps {
  Steps steps;        // ranges are of DeviceWork::stream
  std::string range;  // the NVTX range with which they begin (StepsFrom::kMarks)
};

// Returns the steps of a device, by the first of these that there is: as many as `count` says; from
// NVTX range to NVTX range with "step" or "iter" in its name, or of a function that XLA executes
// (by the calls that launched the kernels); from launch to launch of the CUDA graph that has most
// kernel time, if it has half of all; from call to call of PyTorch's outermost module
// (`profile --gpu --torch`); RepeatedSteps.
FoundGpuSteps FindGpuSteps(const gpu_trace::Trace& trace, const RangesAround& around,
                           const DeviceWork& work, std::optional<int> count);

}  // namespace dlroof::programs
