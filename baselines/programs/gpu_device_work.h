// The work of one device in a trace, the NVTX ranges around it, and its steps. Pure.
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
  std::uint32_t index = 0;   // index into GpuTimeline::kernels (kernel) or Trace::copies (copy)
  std::uint32_t launch = 0;  // index into Trace::launches, for kernels
  std::uint32_t context = 0, stream = 0;
  std::uint32_t graph = 0;  // CUPTI's number of the CUDA graph that launched it; 0: none
  std::uint32_t call = 0;   // correlation number of the CUDA call that launched it or its graph
};

struct DeviceWork {
  std::vector<DeviceTask> all;             // ordered by begin
  std::vector<std::uint32_t> stream;       // kernel of each launch, in the launches' order
  std::vector<std::size_t> launch_places;  // index into `all` of each launch

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

// Returns the name of a range without numbers that differ from call to call: of steps ("step *"),
// and those that PyTorch's emit_nvtx gives to operators.
std::string RangeName(const std::string& name);

// Returns whether the name says that the range is a step ("step", "iter").
bool NamesStep(const std::string& name);

// Returns whether the name is from PyTorch's emit_nvtx: "aten::conv2d, seq = 2, op_id = 7".
bool IsOperatorRange(const std::string& name);

// The NVTX ranges around each range and each CUDA call, on the same thread.
class RangesAround {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // `trace` must outlive this. Time: n log n in its ranges and calls.
  explicit RangesAround(const gpu_trace::Trace& trace);

  // Returns the innermost range (index into Trace::ranges) around the CUDA call that made the
  // launch (index into Trace::launches), or kNone if there is none or the call was not recorded.
  std::uint32_t OfLaunch(std::size_t launch) const;
  // Returns whether the call of any of these launches was recorded.
  bool KnowsCalls(const DeviceWork& work) const;
  // Returns the innermost range around a range, or kNone. Ranges are nested at most 64 deep.
  std::uint32_t OfRange(std::uint32_t range) const { return of_range_[range]; }

 private:
  // Returns the index of the call that made the launch, or kNone.
  std::uint32_t CallOf(std::size_t launch) const;

  const gpu_trace::Trace& trace_;
  std::vector<std::uint32_t> of_range_, of_call_;
};

struct RangeWork {
  std::vector<GpuRangeWork> rows;
  int steps = 0;  // [1] steps with ranges
};

// Sums kernel time per NVTX range. A launch belongs to the innermost range that is open on its CPU
// thread at its CUDA API call. `steps` are half-open ranges of indices into the launches of `work`,
// `kernels` the kernels of `work`. Rows are a tree in pre-order, siblings by descending time; the
// last row has the launches outside any range. Sums are means over the steps with ranges, because a
// program may mark only some of its steps. Returns at most kMaxRangeRows rows, those with the most
// time, and no rows if no launch was in a range or the trace has no API calls. Takes n log n for n
// ranges and calls.
//
// Ranges of PyTorch (`profile --gpu --torch`, emit_nvtx): operators within modules or operators,
// and libraries' ranges within operators, have no rows of their own. A backward operator is in a
// row "backward" of the module with the forward operator of the same number ("seq").
RangeWork RangeWorkOf(const gpu_trace::Trace& trace, const RangesAround& around,
                      const DeviceWork& work, const std::vector<GpuKernelUse>& kernels,
                      std::span<const LaunchRange> steps);
inline constexpr std::size_t kMaxRangeRows = 1000;

struct FoundGpuSteps {
  Steps steps;        // ranges of indices into DeviceWork::stream
  std::string range;  // the NVTX range at the begin of steps (StepsFrom::kMarks)
};

// Returns the steps of a device, by the first method that applies:
// - `count` steps, if it is set;
// - a step begins with each NVTX range that has "step" or "iter" in its name or is of a function
//   that XLA executes (by the CUDA calls that launched the kernels);
// - a step begins with each launch of the CUDA graph with the most kernel time, if that is at least
//   half of all kernel time;
// - a step begins with each call of PyTorch's outermost module (`profile --gpu --torch`);
// - RepeatedSteps.
FoundGpuSteps FindGpuSteps(const gpu_trace::Trace& trace, const RangesAround& around,
                           const DeviceWork& work, std::optional<int> count);

}  // namespace dlroof::programs
