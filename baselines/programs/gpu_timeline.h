// What one process does on one GPU over time, from its trace: its kernels, copies and fills, the
// time in which nothing runs, and its steps. Pure.
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

// What a kernel does, by the words of its name.
enum class KernelKind { kProduct, kLayout, kCollective, kOther };
KernelKind KernelKindOf(std::string_view name);
// Returns whether the kernel multiplies fp32 matrices without tensor cores ("sgemm", "ffma").
bool IsFp32Product(std::string_view name);

// Returns a kernel's name as the compiler's source has it, or the text itself.
std::string DemangledKernel(const std::string& mangled);

// Returns whether the grid stands for a CUDA graph that was traced as a whole.
inline bool IsWholeGraph(const gpu_trace::Size3& grid) { return grid == gpu_trace::Size3(); }

// Returns a grid or a block without trailing ones: "128", "16x8", "16x1x4".
std::string SizeText(const gpu_trace::Size3& size);

// All launches of one kernel with one grid and one block. Each launch of a timeline is in exactly
// one of them.
struct GpuKernelUse {
  std::string name;     // whole, demangled
  std::string mangled;  // "" if it is the same
  gpu_trace::Size3 grid = {}, block = {};
  double launches = 0;        // [1] in the trace
  double seconds = 0;         // [s] sum of their durations
  double graph_launches = 0;  // [1] of them as nodes of CUDA graphs
  // Per steady step, or the sums of the whole trace if there are no steps.
  double step_launches = 0;  // [1]
  double step_seconds = 0;   // [s] sum of durations
  // [s] of the device's time: the time in which several kernels run is divided among them, so that
  // the sum over all kernels is GpuTimes::kernel_seconds
  double step_wall_seconds = 0;
  std::string record;  // name of its record in the run file
};

// How the device spends the time of a step, or of the whole trace. The first five add up to
// wall_seconds. [s]
struct GpuTimes {
  double kernel_seconds = 0;  // at least one kernel runs
  double copy_seconds = 0;    // a copy runs, and no kernel
  double fill_seconds = 0;    // a fill runs, and nothing else
  double idle_seconds = 0;    // nothing runs
  // CUDA graphs, timed as a whole, beyond the kernels, copies and fills of their nodes
  double graph_idle_seconds = 0;
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
  // [s] median time between the calls of CUDA with which successive steps begin: in the traced run,
  // and in a run in which nothing but calls was recorded
  std::optional<double> call_seconds, untraced_call_seconds;
  // [s] median of the steps of the run from which the nodes of CUDA graphs are
  std::optional<double> node_seconds;
};

// The launches of one GPU in their order. For what needs more than the sums.
struct OrderedLaunches {
  std::vector<std::uint32_t> kernels;            // by launch: index of GpuTimeline::kernels
  std::vector<double> seconds;                   // [s] by launch
  std::size_t steady_begin = 0, steady_end = 0;  // launches of one steady step near the middle
  // Correlation numbers of the calls with which each steady step and the next one begin.
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
  double wall_seconds = 0;                     // [s] from the first work to the last
  GpuSteps steps;
  GpuTimes times;                     // of a step, mean over steady steps; or of the whole trace
  std::vector<GpuKernelUse> kernels;  // the most time of a step first
  std::vector<GpuCopies> copy_kinds;
  std::optional<GpuGap> gap;  // the longest of the steady steps, or of the trace
  std::vector<GpuLane> lanes;
  double lane_seconds = 0;               // [s] that the lanes show
  std::vector<GpuRangeWork> range_work;  // RangeWorkOf
  int range_steps = 0;                   // [1] steps that have ranges
  // Why there is no range_work, though the program has ranges.
  std::optional<Reason> range_reason;
  OrderedLaunches order;  // not in a run file

  double KernelSeconds() const;  // [s] sum of the durations of all kernels
};

// Returns the timelines of a process, one for each GPU that it used, the most kernel time first.
// `steps` is the number of steps of the program, if that is known.
std::vector<GpuTimeline> TimelinesOf(const gpu_trace::Trace& trace,
                                     std::optional<int> steps = std::nullopt);

// Sets call_seconds and untraced_call_seconds of the timeline of `traced`, if the run of the same
// process of which `untraced` has the calls has as many from the first steady step to its end.
// Calls are counted from the end: the start of a program (autotuning) differs from run to run.
void AddPace(const gpu_trace::Trace& traced, const gpu_trace::Trace& untraced,
             GpuTimeline& timeline);

// Replaces the kernels, copies, fills and ranges of a timeline of CUDA graphs as a whole by those
// of a run in which their nodes were traced, whose steps have as many launches of graphs. Their
// times are scaled to the time in which anything ran, if they exceed it; what they leave of it
// becomes graph_idle_seconds. Returns false, and changes nothing, if the steps differ.
bool TakeNodes(GpuTimeline nodes, GpuTimeline& timeline);

// What is known of the idle time of a step without the trace, which slows down the host.
struct GpuIdle {
  // The traced step is at most kTraceCost longer, or idle for no more of its time.
  bool seen = false;
  // [s] of a traced step: idle without the trace too, at most. Absent: not known, because there was
  // no run without it, or the host is ahead of the device in one of the runs.
  std::optional<double> most_seconds;
};
GpuIdle IdleOf(const GpuTimeline& timeline);
inline constexpr double kTraceCost = 0.02;  // [1] of a step

}  // namespace dlroof::programs
