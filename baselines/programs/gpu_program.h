// The GPU part of a program's profile: the timelines of its processes, the overhead of tracing, and
// counts of kernels. It is stored as context.dlroof.gpu_program of a run file. Pure.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "baselines/programs/gpu_timeline.h"
#include "counters/base/work.h"
#include "counters/gpu_trace/read.h"
#include "reporters/document/document.h"
#include "reporters/imports/import.h"
#include "reporters/record/record.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::programs {

// A process whose work was traced, or which could not be traced.
struct GpuProcess {
  std::optional<std::uint32_t> pid;
  std::string command;
  double launches = 0, copies = 0, fills = 0;  // [1]
  double calls = 0, ranges = 0;                // [1] recorded CUDA calls and NVTX ranges
  double dropped = 0, untimed = 0;             // [1] lost records; records without a time
  bool ended = false;   // it ended by exit(); otherwise the end of the trace may be missing
  bool full = false;    // the trace reached its maximum size
  std::string failure;  // why the process could not be traced, or ""
  std::vector<std::string> remarks;
};

// Counts by Nsight Compute of a timeline's kernels (indices into GpuTimeline::kernels): the work of
// one launch, the mean over the kernel's counted launches.
using KernelCounts = std::map<std::uint32_t, Work>;

// How much of the kernels' time Nsight Compute counted.
struct GpuCounting {
  bool requested = false;
  std::optional<Reason> reason;  // why nothing is counted
  double kernels = 0;            // [1] distinct counted kernels
  double share = 0;              // [1] counted share of kernel time in the first timeline's step
  double seconds = 0;            // [s] duration of counting
};

struct GpuProgram {
  std::string command;
  std::optional<double> wall_seconds;  // [s] from start to end of the program
  std::optional<std::string> stopped;  // why the program was ended early
  std::vector<GpuProcess> processes;
  std::vector<GpuTimeline> timelines;  // the most kernel time first
  GpuCounting counting;
};

// The processes' traces of two further runs, traced in other ways; empty if there was no such run.
struct OtherRuns {
  std::vector<gpu_trace::Trace> nodes;  // each kernel of a CUDA graph by itself
  std::vector<gpu_trace::Trace> calls;  // only CUDA calls, no kernels: the program's own pace
};
// Returns the program whose processes have these traces. `steps`: number of its steps, if known.
GpuProgram ProgramOfTraces(const std::vector<gpu_trace::Trace>& traces,
                           std::optional<int> steps = std::nullopt, const OtherRuns& others = {});
// Returns whether a CUDA graph was traced as a whole: only OtherRuns::nodes has its kernels.
bool NeedsNodes(const std::vector<gpu_trace::Trace>& traces);
// Returns whether tracing may have caused idle time, so that OtherRuns::calls is needed to know.
bool NeedsCalls(const GpuProgram& program);

inline constexpr double kCountSeconds = 0.2;  // [s] to count one launch, measured on an H200

// The launches that Nsight Compute will count.
struct LaunchSelection {
  std::vector<std::string> arguments;  // of ncu, before the program
  std::size_t launches = 0;            // [1] number of launches to count
  std::set<std::uint32_t> kernels;     // the represented kernels: indices into GpuTimeline::kernels
  double share = 0;                    // [1] share of `kernels` in the kernel time of a step
};

// Chooses at most `max_launches` successive launches of the kernels with the most time in a steady
// step (without steps: in the trace), so that they represent most of the step's time. A kernel is
// represented if the mean duration of its chosen launches is within 10 % of the mean over all its
// launches in the step. The arguments tell ncu which kernel names match, how many matching launches
// to skip and how many to count; then ncu ends the program.
LaunchSelection SelectLaunches(const GpuTimeline& timeline, std::size_t max_launches);

// Returns the regular expression that matches exactly these names.
std::string ExactNames(const std::vector<std::string>& names);

// Returns the counts of the selected kernels. A launch belongs to the kernel with its grid, block
// and mangled or full C++ name. The counted run may have chosen another grid (autotuning): if
// exactly one selected kernel of a name has no launches, it gets the launches of this name that
// belong to no kernel, provided that they all have the same grid.
KernelCounts JoinCounts(const GpuTimeline& timeline, const LaunchSelection& selection,
                        const std::vector<imports::CountedLaunch>& launches);

// Returns why there is nothing to report: no process used CUDA, CUPTI failed, or nothing ran.
std::optional<Reason> NothingTraced(const GpuProgram& program);

// Returns a record for each kernel of a step of the first timeline. It describes all launches of
// the kernel in the step: the time is from the trace, the work is the mean count of a launch times
// the number of launches. Sets GpuKernelUse::record, GpuCounting::kernels and GpuCounting::share.
std::vector<record::Record> RecordsOf(GpuProgram& program, const std::string& set,
                                      const KernelCounts& counted);

nlohmann::json ToJson(const GpuProgram& program);
// Reads context.dlroof.gpu_program; nullopt if it is absent. Ignores members of unexpected types.
std::optional<GpuProgram> GpuProgramOf(const nlohmann::json& context);

// A proposal to make the program faster.
struct GpuAdvice {
  double seconds = 0;  // [s] maximum saving per step
  std::string text;    // one or two sentences
};
// Returns the proposals that may save at least 3 % of a step, the largest saving first.
std::vector<GpuAdvice> AdviceOf(const GpuTimeline& timeline);

// Returns the report of a run file with a GPU program: the best proposals, the time of a step, its
// kernels, streams, gaps and copies, and the overhead of tracing. Empty for other files.
// `full_names`: show all kernels, with names that are not shortened.
document::Document GpuProgramDocument(const roofline::PlacedRun& run, bool full_names = false);

}  // namespace dlroof::programs
