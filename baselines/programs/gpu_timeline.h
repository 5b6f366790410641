// What one process does on one GPU over time, from its trace: its kernels, copies and fills, the
// time in which nothing runs, and its steps. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/programs/steps.h"
#include "counters/gpu_trace/read.h"

namespace dlroof::programs {

// What a kernel does, by the words of its name.
enum class KernelKind { kProduct, kElementwise, kLayout, kReduction, kCollective, kOther };
KernelKind KernelKindOf(std::string_view name);
// Returns whether the kernel multiplies fp32 matrices without tensor cores ("sgemm", "ffma").
bool IsFp32Product(std::string_view name);

// Returns a kernel's name as the compiler's source has it, or the text itself.
std::string DemangledKernel(const std::string& mangled);

// Returns a grid or a block without trailing ones: "128", "16x8", "16x1x4".
std::string SizeText(const gpu_trace::Size3& size);

// All launches of one kernel with one grid and one block. Each launch of a timeline is in exactly
// one of them.
struct GpuKernelUse {
  std::string name;     // whole, demangled
  std::string mangled;  // "" if it is the same
  gpu_trace::Size3 grid = {}, block = {};
  std::uint32_t registers = 0;  // [1] per thread
  double shared_bytes = 0;      // [byte] per block
  double launches = 0;          // [1] in the trace
  double seconds = 0;           // [s] sum of their durations
  double graph_launches = 0;    // [1] of them as nodes of CUDA graphs
  // Per steady step, or the sums of the whole trace if there are no steps.
  double step_launches = 0;  // [1]
  double step_seconds = 0;   // [s] sum of durations
  // [s] of the device's time: the time in which several kernels run is divided among them, so that
  // the sum over all kernels is GpuTimes::kernel_seconds
  double step_wall_seconds = 0;
  std::string record;  // name of its record in the run file
};

// How the device spends the time of a step, or of the whole trace. The first four add up to
// wall_seconds. [s]
struct GpuTimes {
  double kernel_seconds = 0;  // at least one kernel runs
  double copy_seconds = 0;    // a copy runs, and no kernel
  double fill_seconds = 0;    // a fill runs, and nothing else
  double idle_seconds = 0;    // nothing runs
  double wall_seconds = 0;
  double overlap_seconds = 0;      // durations of kernels beyond kernel_seconds
  double hidden_copy_seconds = 0;  // copies run while a kernel runs
  double short_idle_seconds = 0;   // idle in gaps of at most kShortGap
  double short_gaps = 0;           // [1] number of these gaps
};
inline constexpr double kShortGap = 100e-6;  // [s] longer gaps are not the cost of launches alone

// All copies of one kind, per step or of the whole trace.
struct GpuCopies {
  std::string kind;  // "to the GPU", "to the host", "on the GPU", "between GPUs", "other"
  double copies = 0, bytes = 0, seconds = 0;  // [1], [byte], [s] sum of durations
  double pageable_bytes = 0;                  // [byte] from or to memory that is not pinned
};

// A time in which nothing runs.
struct GpuGap {
  double seconds = 0;         // [s]
  double at_seconds = 0;      // [s] its begin, since the timeline's first work
  std::string before, after;  // what ended before and began after: a kernel's whole name, or a copy
  std::string range;          // the innermost NVTX range of the host in which it began; "" if none
};

// One step of a stream, or the whole trace, in equal parts of time: the share [1] of each part in
// which a kernel, and a copy or a fill, runs.
struct GpuLane {
  std::uint32_t context = 0, stream = 0;
  std::vector<double> kernels, copies;
};

// The kernels that were launched in a range of the program, or in ranges within it. Means over the
// steps that have any range; without steps the sums of the trace.
struct GpuRangeWork {
  std::string name;     // RangeName; "" for what was launched in no range
  int depth = 0;        // [1] ranges around it: the rows before it with smaller depths
  double ranges = 0;    // [1] that launched kernels
  double launches = 0;  // [1] of kernels
  double seconds = 0;   // [s] sum of their durations
  std::string kernel;   // whole name of the kernel that takes most of `seconds`
};

struct GpuSteps {
  StepsFrom from = StepsFrom::kNone;
  std::string range;             // the NVTX range with which steps begin (StepsFrom::kMarks)
  std::optional<Reason> reason;  // set if there are no steps
  int count = 0;                 // [1] steady steps
  int outliers = 0;              // [1] left out: longer than 1.5 times the median
  double launches = 0;           // [1] of a step, mean
  double warm_up_launches = 0;   // [1] before the first steady step
  double warm_up_seconds = 0;    // [s]
  // [s] wall time of the steady steps
  double least_seconds = 0, lower_seconds = 0, median_seconds = 0, upper_seconds = 0,
         most_seconds = 0;
};

// The launches of one GPU in their order. For what needs more than the sums.
struct OrderedLaunches {
  std::vector<std::uint32_t> kernels;            // by launch: index of GpuTimeline::kernels
  std::size_t steady_begin = 0, steady_end = 0;  // launches of one steady step near the middle
};

struct GpuTimeline {
  std::optional<std::uint32_t> pid;
  std::string command;  // of the process
  std::uint32_t device = 0;
  std::string device_name;                     // "" if unknown
  std::uint32_t compute_capability = 0;        // [1] major * 10 + minor; 0 if unknown
  double launches = 0, copies = 0, fills = 0;  // [1] in the trace
  double wall_seconds = 0;                     // [s] from the first work to the last
  GpuSteps steps;
  GpuTimes times;                     // of a step, mean over steady steps; or of the whole trace
  std::vector<GpuKernelUse> kernels;  // the most time of a step first
  std::vector<GpuCopies> copy_kinds;
  std::vector<GpuGap> gaps;  // the longest of the steady steps, or of the trace
  std::vector<GpuLane> lanes;
  double lane_seconds = 0;               // [s] that the lanes show
  std::vector<GpuRangeWork> range_work;  // RangeWorkOf
  int range_steps = 0;                   // [1] steps that have ranges
  // [s] per step: of runs of elementwise kernels on one stream all but each run's longest kernel
  double fusible_seconds = 0;
  double fusible_launches = 0;  // [1] launches of these runs
  OrderedLaunches order;        // not in a run file

  double KernelSeconds() const;  // [s] sum of the durations of all kernels
};

// Returns the timelines of a process, one for each GPU that it used, the most kernel time first.
// `steps` is the number of steps of the program, if that is known.
std::vector<GpuTimeline> TimelinesOf(const gpu_trace::Trace& trace,
                                     std::optional<int> steps = std::nullopt);

}  // namespace dlroof::programs
