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

#include "baselines/programs/program_summary.h"
#include "counters/base/error.h"
#include "counters/gpu_trace/read.h"

namespace dlroof::programs {

// Kinds of kernels, recognized by words in their names.
enum class KernelKind { kProduct, kLayout, kCollective, kOther };
KernelKind KernelKindOf(std::string_view name);
// Returns whether the kernel multiplies fp32 matrices without tensor cores ("sgemm", "ffma").
bool IsFp32Product(std::string_view name);

// Returns whether the kernel with this grid is a CUDA graph that was traced as a whole.
inline bool IsWholeGraph(const gpu_trace::Size3& grid) { return grid == gpu_trace::Size3(); }

// Returns a grid or block without trailing ones, e.g. "128", "16x8"; "" for a whole graph.
std::string SizeText(const gpu_trace::Size3& size);

// All launches of one kernel with the same grid and block. Each launch is in one GpuKernelUse.
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
  // [s] The kernel's share of the device's time. Time in which several kernels run is divided among
  // them, so the sum over all kernels is GpuTimes::kernel_seconds.
  double step_wall_seconds = 0;
  std::string record;  // name of its record in the run file
};

// [s] How a GPU spent a step, or the whole trace. The first five members add up to wall_seconds.
struct GpuTimes {
  double kernel_seconds = 0;  // at least one kernel runs
  double copy_seconds = 0;    // a copy runs, but no kernel
  double fill_seconds = 0;    // only a fill of memory runs
  double idle_seconds = 0;    // nothing runs
  // a CUDA graph that was traced as a whole runs, but none of its kernels, copies and fills
  double graph_idle_seconds = 0;
  double wall_seconds = 0;
  double overlap_seconds = 0;      // sum of the kernels' durations - kernel_seconds
  double hidden_copy_seconds = 0;  // copies that run while a kernel runs
  double short_idle_seconds = 0;   // idle time in gaps of at most kShortGap
  double short_gaps = 0;           // [1] number of these gaps
};
inline constexpr double kShortGap = 100e-6;  // [s] launches do not cause longer gaps

// All copies of one kind: means per step, or sums over the trace.
struct GpuCopies {
  std::string kind;  // "to the GPU", "to the host", "on the GPU", "between GPUs", "other"
  double copies = 0, bytes = 0, seconds = 0;  // [1], [byte], [s] sum of durations
  double pageable_bytes = 0;                  // [byte] from or to memory that is not pinned
};

// A period in which nothing runs on the GPU.
struct GpuGap {
  double seconds = 0;         // [s]
  std::string before, after;  // work around it: a kernel's full name, "a copy", "a fill of memory"
  std::string range;          // innermost NVTX range of the host when it begins, or ""
};

// One stream during a step (or the trace), in equal slices of time: per slice the share [1] in
// which a kernel runs (`kernels`), and in which a copy or a fill runs (`copies`).
struct GpuLane {
  std::uint32_t context = 0, stream = 0;
  std::vector<double> kernels, copies;
};

// The kernels launched in NVTX ranges of one name, and in ranges within these. Means over the steps
// with ranges; without steps the sums over the trace.
struct GpuRangeWork {
  std::string name;     // RangeName; "" for launches outside of ranges
  int depth = 0;        // [1] number of enclosing rows, all of which precede this row
  double ranges = 0;    // [1] number of ranges that launched kernels
  double launches = 0;  // [1] of kernels
  double seconds = 0;   // [s] sum of the kernels' durations
  std::string kernel;   // full name of the kernel with the most time
};

struct GpuSteps {
  StepsFrom from = StepsFrom::kNone;
  std::string range;             // NVTX range with which steps begin (StepsFrom::kMarks)
  std::optional<Reason> reason;  // set if there are no steps
  int count = 0;                 // [1] steady steps
  int outliers = 0;              // [1] ignored steps: longer than 1.5 times the median
  double launches = 0;           // [1] per step, mean
  double warm_up_launches = 0;   // [1] before the first steady step
  double warm_up_seconds = 0;    // [s] before the first steady step
  // [s] wall time of the steady steps
  double least_seconds = 0, lower_seconds = 0, median_seconds = 0, upper_seconds = 0,
         most_seconds = 0;
  // [s] Median time between the CUDA calls that begin successive steps, in the traced run and in a
  // run in which only CUDA calls were recorded (OtherRuns::calls). Set by AddPace.
  std::optional<double> call_seconds, untraced_call_seconds;
  // [s] Median step of the run in which nodes of CUDA graphs were traced. Set by TakeNodes.
  std::optional<double> node_seconds;
};

// The launches of one GPU, in order of time.
struct OrderedLaunches {
  std::vector<std::uint32_t> kernels;            // by launch: index of GpuTimeline::kernels
  std::vector<double> seconds;                   // [s] by launch
  std::size_t steady_begin = 0, steady_end = 0;  // launches of the middle one of the steady steps
  // Per steady step: correlation numbers of the CUDA calls that begin it and the following step.
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
  double wall_seconds = 0;                     // [s] from the first begin to the last end of work
  GpuSteps steps;
  GpuTimes times;                     // mean per steady step; without steps of the whole trace
  std::vector<GpuKernelUse> kernels;  // the most time of a step first
  std::vector<GpuCopies> copy_kinds;
  std::optional<GpuGap> gap;  // the longest gap in the steady steps (or the trace)
  std::vector<GpuLane> lanes;
  double lane_seconds = 0;               // [s] duration of the lanes
  std::vector<GpuRangeWork> range_work;  // by SetRangeWork
  int range_steps = 0;                   // [1] steps with ranges
  // Why range_work is empty although the program has NVTX ranges.
  std::optional<Reason> range_reason;
  OrderedLaunches order;  // not in a run file

  double KernelSeconds() const;  // [s] sum of the durations of all kernels
};

// Returns the timelines of a process, one for each GPU that it used, the most kernel time first.
// `steps` is the number of steps of the program, if known.
std::vector<GpuTimeline> TimelinesOf(const gpu_trace::Trace& trace,
                                     std::optional<int> steps = std::nullopt);

// Sets GpuSteps::call_seconds and untraced_call_seconds of the timeline of `traced`. `untraced` is
// the same process in the run with CUDA calls only. Matches the runs' calls by counting from the
// end, because their starts may differ (autotuning). Sets nothing if calls of steps are missing.
void AddPace(const gpu_trace::Trace& traced, const gpu_trace::Trace& untraced,
             GpuTimeline& timeline);

// In `timeline`, whose CUDA graphs were traced as a whole, replaces kernels, copies, fills and
// ranges by those of `nodes`, a run in which the graphs' nodes were traced. If their times exceed
// the busy time of `timeline`, scales them down; else the rest becomes graph_idle_seconds. Returns
// false and changes nothing if the devices differ, a run has no steps, or their steps have
// different numbers of graph launches.
bool TakeNodes(GpuTimeline nodes, GpuTimeline& timeline);

// The idle time that a step would have without tracing. (Tracing slows the host down.)
struct GpuIdle {
  // Whether the traced idle time is the program's own: tracing lengthened the step by at most
  // kTraceCost, or at most kTraceCost of the step is idle.
  bool seen = false;
  // [s] Upper limit of the idle time without tracing. nullopt if there was no run without tracing,
  // or the host was ahead of the device in a run.
  std::optional<double> most_seconds;
};
GpuIdle IdleOf(const GpuTimeline& timeline);
inline constexpr double kTraceCost = 0.02;  // [1] share of a step's time

// A kernel, a copy or a fill on the device.
struct DeviceTask {
  enum class Sort { kKernel, kCopy, kFill };

  gpu_trace::Interval time;
  Sort sort = Sort::kKernel;
  std::uint32_t index = 0;   // index into GpuTimeline::kernels (kernel) or Trace::copies (copy)
  std::uint32_t launch = 0;  // index into Trace::launches, for kernels
  gpu_trace::Place place;
  std::uint32_t graph = 0;  // number of the CUDA graph that contains it; 0 outside graphs
  std::uint32_t call = 0;   // correlation number of the call that launched it or its graph
};

struct DeviceWork {
  std::vector<DeviceTask> all;             // ordered by begin
  std::vector<std::uint32_t> stream;       // index into GpuTimeline::kernels of each launch
  std::vector<std::size_t> launch_places;  // index into `all` of each launch

  const DeviceTask& Launch(std::size_t launch) const { return all[launch_places[launch]]; }
};

inline double Seconds(std::int64_t ns) { return 1e-9 * static_cast<double>(ns); }
inline double Seconds(const gpu_trace::Interval& time) {
  return Seconds(time.end_ns - time.begin_ns);
}

// Returns the device's work. Adds an entry to timeline.kernels for each name, grid and block, and
// sets the timeline's numbers of launches, copies and fills.
DeviceWork WorkOn(const gpu_trace::Trace& trace, std::uint32_t device, GpuTimeline& timeline);

// Returns the name of a range without the numbers that differ from call to call: of a step ("step
// *" for "step 12"), and "seq" and "op_id" of PyTorch's emit_nvtx.
std::string RangeName(const std::string& name);

// Returns whether the name contains "step" or "iter", as names of steps do.
bool NamesStep(const std::string& name);

// Returns whether the name is of PyTorch's emit_nvtx, e.g. "aten::conv2d, seq = 2, op_id = 7".
bool IsOperatorRange(const std::string& name);

// Finds the NVTX range around each range and around each CUDA call, on the same thread.
class RangesAround {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // `trace` must outlive this. Takes n log n for n ranges and calls.
  explicit RangesAround(const gpu_trace::Trace& trace);

  // Returns the innermost range (index into Trace::ranges) around the CUDA call that made the
  // launch (index into Trace::launches), or kNone if there is none or the call was not recorded.
  std::uint32_t OfLaunch(std::size_t launch) const;
  // Returns whether the CUDA call of at least one launch of `work` was recorded.
  bool KnowsCalls(const DeviceWork& work) const;
  // Returns the innermost range around a range, or kNone. Ranges are nested at most 64 deep.
  std::uint32_t OfRange(std::uint32_t range) const { return of_range_[range]; }

 private:
  // Returns the index of the call that made the launch, or kNone.
  std::uint32_t CallOf(std::size_t launch) const;

  const gpu_trace::Trace& trace_;
  std::vector<std::uint32_t> of_range_, of_call_;
};

// Sets timeline.range_work and range_steps: kernel time per NVTX range. A launch belongs to the
// innermost range that is open on its CPU thread at its CUDA API call. `steps` are half-open ranges
// of launches of `work`. Rows are a tree in pre-order, siblings by descending time; the last row
// has launches outside any range. Sums are means over the steps with ranges, because a program may
// mark only some of its steps. There are at most kMaxRangeRows rows, those with the most time, and
// no rows if no launch was in a range or the trace has no API calls. Takes n log n for n ranges and
// calls.
//
// Ranges of PyTorch (`profile --gpu --torch`, emit_nvtx): operators within modules or operators,
// and libraries' ranges within operators, have no rows of their own. A backward operator counts in
// the row "backward" and, below it, in the row of the module that contains the forward operator
// with the same sequence number ("seq").
void SetRangeWork(const gpu_trace::Trace& trace, const RangesAround& around, const DeviceWork& work,
                  std::vector<StepRange> steps, GpuTimeline& timeline);
inline constexpr std::size_t kMaxRangeRows = 1000;

// Returns the steps of a device (indices into DeviceWork::stream), by the first method that
// applies:
// - `count` steps, if it is set;
// - a step begins with the first kernel that was launched in each NVTX range with "step" or "iter"
//   in its name, or of a function that XLA executes;
// - a step begins with each launch of the CUDA graph with the most kernel time, if that is at least
//   half of all kernel time;
// - a step begins with each call of PyTorch's outermost module (`profile --gpu --torch`);
// - the steps are the RepeatedSteps of the kernels.
Steps FindGpuSteps(const gpu_trace::Trace& trace, const RangesAround& around,
                   const DeviceWork& work, std::optional<int> count);

}  // namespace dlroof::programs
