// The work of one process on one GPU over time, from its trace: kernels, copies and fills, idle
// time, and steps. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/programs/steps.h"
#include "counters/base/error.h"
#include "counters/gpu_trace/read.h"

namespace dlroof::programs {

// Kinds of kernels, recognized by words in their names.
enum class KernelKind { kProduct, kLayout, kCollective, kOther };
KernelKind KernelKindOf(std::string_view name);
// Returns whether the kernel multiplies fp32 matrices without tensor cores ("sgemm", "ffma").
bool IsFp32Product(std::string_view name);

// Returns a kernel's demangled C++ name, or the text itself if it is not mangled.
std::string DemangledKernel(const std::string& mangled);

// Returns whether the kernel with this grid is a CUDA graph that was traced as a whole.
inline bool IsWholeGraph(const gpu_trace::Size3& grid) { return grid == gpu_trace::Size3(); }

// Returns a grid or a block without trailing ones: "128", "16x8", "16x1x4".
std::string SizeText(const gpu_trace::Size3& size);

// All launches of one kernel with the same grid and block. Each launch is in exactly one use.
struct GpuKernelUse {
  std::string name;     // full demangled name
  std::string mangled;  // mangled name; "" if it is the same
  gpu_trace::Size3 grid = {}, block = {};
  double launches = 0;        // [1] in the trace
  double seconds = 0;         // [s] sum of their durations
  double graph_launches = 0;  // [1] launches as nodes of CUDA graphs
  // Means per steady step, or the sums over the trace if there are no steps.
  double step_launches = 0;  // [1]
  double step_seconds = 0;   // [s] sum of durations
  // [s] its share of the device's time: time with several running kernels is divided among them, so
  // that the sum over all kernels is GpuTimes::kernel_seconds
  double step_wall_seconds = 0;
  std::string record;  // name of its record in the run file
};

// How long the GPU did what, in a step or in the whole trace. kernel, copy, fill, idle and
// graph_idle add up to wall.
struct GpuTimes {
  double kernel_seconds = 0;  // at least one kernel runs
  double copy_seconds = 0;    // a copy runs, and no kernel
  double fill_seconds = 0;    // a fill runs, and nothing else
  double idle_seconds = 0;    // nothing runs
  // between begin and end of a CUDA graph: no kernel, copy or fill of it runs
  double graph_idle_seconds = 0;
  double wall_seconds = 0;
  double overlap_seconds = 0;      // sum of the kernels' durations - kernel_seconds
  double hidden_copy_seconds = 0;  // copies that run while a kernel runs
  double short_idle_seconds = 0;   // idle in gaps of at most kShortGap
  double short_gaps = 0;           // [1] number of these gaps
};
inline constexpr double kShortGap = 100e-6;  // [s] longer gaps have other causes than launches

// All copies of one kind: means per step, or sums over the trace.
struct GpuCopies {
  std::string kind;  // "to the GPU", "to the host", "on the GPU", "between GPUs", "other"
  double copies = 0, bytes = 0, seconds = 0;  // [1], [byte], [s] sum of durations
  double pageable_bytes = 0;                  // [byte] from or to memory that is not pinned
};

// A time in which nothing runs.
struct GpuGap {
  double seconds = 0;         // [s]
  std::string before, after;  // the work before and after it: a kernel's full name, or "a copy ..."
  std::string range;          // innermost NVTX range of the host at its begin, or ""
};

// A step (or the trace) of one stream in equal slices of time: the share [1] of each slice in which
// a kernel runs, and in which a copy or a fill runs.
struct GpuLane {
  std::uint32_t context = 0, stream = 0;
  std::vector<double> kernels, copies;
};

// The kernels launched in an NVTX range of the program, or in ranges within it. Means over the
// steps with ranges; without steps the sums over the trace.
struct GpuRangeWork {
  std::string name;     // RangeName; "" for launches outside of ranges
  int depth = 0;        // [1] number of ranges around it; these are earlier rows
  double ranges = 0;    // [1] number of ranges that launched kernels
  double launches = 0;  // [1] of kernels
  double seconds = 0;   // [s] sum of the kernels' durations
  std::string kernel;   // full name of the kernel with the most time
};

struct GpuSteps {
  StepsFrom from = StepsFrom::kNone;
  std::string range;             // the NVTX range at the begin of steps (StepsFrom::kMarks)
  std::optional<Reason> reason;  // set if there are no steps
  int count = 0;                 // [1] steady steps
  int outliers = 0;              // [1] ignored steps: longer than 1.5 times the median
  double launches = 0;           // [1] per step, mean
  double warm_up_launches = 0;   // [1] before the first steady step
  double warm_up_seconds = 0;    // [s]
  // [s] wall time of the steady steps
  double least_seconds = 0, lower_seconds = 0, median_seconds = 0, upper_seconds = 0,
         most_seconds = 0;
  // [s] median time between the CUDA calls at the begin of successive steps: in the traced run, and
  // in a run in which only CUDA calls were recorded
  std::optional<double> call_seconds, untraced_call_seconds;
  // [s] median step of the run in which the nodes of CUDA graphs were traced
  std::optional<double> node_seconds;
};

// The launches of one GPU in their order, for SelectLaunches, AddPace and TakeNodes.
struct OrderedLaunches {
  std::vector<std::uint32_t> kernels;            // by launch: index of GpuTimeline::kernels
  std::vector<double> seconds;                   // [s] by launch
  std::size_t steady_begin = 0, steady_end = 0;  // launches of a steady step in the middle
  // Correlation numbers of the CUDA calls at the begin of each steady step and of its next step.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> step_calls;
  double step_graphs = 0;  // [1] launches of CUDA graphs in a steady step, mean
};

struct GpuTimeline {
  std::optional<std::uint32_t> pid;
  std::string command;  // of the process
  std::uint32_t device = 0;
  std::string device_name;                     // "" if unknown
  std::uint32_t compute_capability = 0;        // [1] major * 10 + minor; 0 if unknown
  double launches = 0, copies = 0, fills = 0;  // [1] in the trace
  double wall_seconds = 0;                     // [s] from the begin of the first work to the end
  GpuSteps steps;
  GpuTimes times;                     // mean per steady step; without steps of the whole trace
  std::vector<GpuKernelUse> kernels;  // the most time of a step first
  std::vector<GpuCopies> copy_kinds;
  std::optional<GpuGap> gap;  // the longest in the steady steps; without steps in the trace
  std::vector<GpuLane> lanes;
  double lane_seconds = 0;               // [s] duration of the lanes
  std::vector<GpuRangeWork> range_work;  // by RangeWorkOf
  int range_steps = 0;                   // [1] steps with ranges
  // Why range_work is empty, though the program has ranges.
  std::optional<Reason> range_reason;
  OrderedLaunches order;  // not in a run file

  double KernelSeconds() const;  // [s] sum of the durations of all kernels
};

// Returns the timelines of a process, one for each GPU that it used, the most kernel time first.
// `steps` is the number of steps of the program, if known.
std::vector<GpuTimeline> TimelinesOf(const gpu_trace::Trace& trace,
                                     std::optional<int> steps = std::nullopt);

// Sets call_seconds and untraced_call_seconds of the timeline of `traced`. `untraced` is a run of
// the same process with CUDA calls only. Matches calls by their number counted from the end,
// because the start of a program (autotuning) differs from run to run. Sets nothing if `untraced`
// has too few calls.
void AddPace(const gpu_trace::Trace& traced, const gpu_trace::Trace& untraced,
             GpuTimeline& timeline);

// Replaces the kernels, copies, fills and ranges of a timeline in which CUDA graphs were traced as
// a whole by those of a run in which the graphs' nodes were traced (`nodes`). Scales their times
// down if they exceed the busy time of `timeline`; otherwise the difference becomes
// graph_idle_seconds. Returns false and changes nothing if the steps of the two runs have different
// numbers of graph launches.
bool TakeNodes(GpuTimeline nodes, GpuTimeline& timeline);

// The idle time that a step would have without tracing, which slows down the host.
struct GpuIdle {
  // Tracing made the step at most kTraceCost longer, or at most this share of the step is idle.
  bool seen = false;
  // [s] Upper limit of the idle time without tracing. Absent if unknown: there was no run without
  // tracing, or in one of the runs the host is ahead of the device.
  std::optional<double> most_seconds;
};
GpuIdle IdleOf(const GpuTimeline& timeline);
inline constexpr double kTraceCost = 0.02;  // [1] share of a step's time

}  // namespace dlroof::programs
