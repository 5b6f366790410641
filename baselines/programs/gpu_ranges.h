// Which NVTX range of the program launched each kernel. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "baselines/programs/gpu_device_work.h"
#include "baselines/programs/gpu_timeline.h"
#include "counters/gpu_trace/read.h"

namespace dlroof::programs {

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
  // Returns the innermost range around a range, or kNone. At most 64 are around one another.
  std::uint32_t OfRange(std::uint32_t range) const { return of_range_[range]; }

 private:
  const gpu_trace::Trace& trace_;
  std::vector<std::uint32_t> of_range_, of_call_;
};

// What RangeWorkOf returns.
struct RangeWork {
  std::vector<GpuRangeWork> rows;
  int steps = 0;  // [1] that have ranges
};

// Adds up the kernels of the steps by the range in which their call of CUDA began, on its thread:
// the launches [first, second) of `work` for each step. Returns a row for each range by its path,
// after the row of the range around it, the longest first, and last one for the launches in no
// range. Sums are per step that has ranges: a program may mark a few of its steps. Of more than
// kMaxRangeRows ranges those with most time. Returns nothing if no launch was in a range, or the
// trace has no calls. `kernels` are the rows of `work`. Time: n log n in the trace's ranges and
// calls.
//
// Ranges of PyTorch (`profile --gpu --torch`, emit_nvtx): operators in a module, and within other
// operators, are no rows of their own, and neither are libraries' ranges in operators. A backward
// operator belongs to the module of the forward one with the same number ("seq"), under a row
// "backward".
RangeWork RangeWorkOf(const gpu_trace::Trace& trace, const RangesAround& around,
                      const DeviceWork& work, const std::vector<GpuKernelUse>& kernels,
                      std::span<const LaunchRange> steps);
inline constexpr std::size_t kMaxRangeRows = 1000;

}  // namespace dlroof::programs
