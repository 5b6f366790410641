// The GPU half of a program's profile: the timelines of its processes, what tracing them cost, and
// which of their kernels were counted. The content of context.dlroof.gpu_program of a run file.
// Pure.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "baselines/programs/gpu_timeline.h"
#include "counters/base/work.h"
#include "counters/gpu_trace/read.h"
#include "reporters/document/document.h"
#include "reporters/imports/ncu.h"
#include "reporters/record/record.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::programs {

// A process whose work was traced, or could not be.
struct GpuProcess {
  std::optional<std::uint32_t> pid;
  std::string command;
  double launches = 0, copies = 0, fills = 0;                     // [1]
  double dropped = 0, untimed = 0;                                // [1] records that were lost
  std::optional<double> library_seconds, cupti_seconds, records;  // see gpu_trace::TraceCost
  bool ended = false;   // by exit(); otherwise the last moments may be missing
  bool full = false;    // the trace reached its largest size
  std::string failure;  // why nothing could be traced; "" if it could
  std::vector<std::string> remarks;
};

// What Nsight Compute counted of one launch of a kernel.
struct CountedKernel {
  std::string name;  // mangled, as in the trace
  gpu_trace::Size3 grid = {}, block = {};
  std::uint32_t variant = 0;            // as GpuKernelUse::variant
  std::map<std::string, double> flops;  // [flop] by pipe, of one launch
  std::map<Level, double> bytes;        // [byte] of one launch
};

// How much of the kernels' time is counted.
struct GpuCounting {
  bool requested = false;
  std::optional<Reason> reason;  // why nothing is counted
  double kernels = 0;            // [1] distinct kernels that are counted
  double share = 0;              // [1] of the kernels' time of the first timeline's step
  double seconds = 0;            // [s] that counting took
  double unassigned = 0;  // [1] launches whose counts no kernel got: JoinedCounts::unassigned
};

struct GpuProgram {
  std::string command;
  std::optional<double> wall_seconds;  // [s] of the program
  std::optional<std::string> stopped;  // why it was ended early
  std::vector<GpuProcess> processes;
  std::vector<GpuTimeline> timelines;  // the most kernel time first
  GpuCounting counting;
};

GpuProgram ProgramOfTraces(const std::vector<gpu_trace::Trace>& traces,
                           std::optional<int> steps = std::nullopt);

// Choice of the launches that Nsight Compute shall count, so that each distinct kernel is counted
// with few launches, and the join of its table with the trace.

inline constexpr double kCountSeconds = 0.2;  // [s] that counting one launch costs, on an H200

struct LaunchSelection {
  std::vector<std::string> arguments;  // of ncu, before the program
  std::size_t launches = 0;            // [1] that ncu will count
  std::size_t kernels = 0;             // [1] distinct kernels among them, by the trace
  double share = 0;                    // [1] of the kernels' time of a step
  // The kernel (index of GpuTimeline::kernels) of each launch that ncu will count, in order.
  std::vector<std::uint32_t> order;
};

// Chooses the kernels with most time of a step, as many as `most_launches` launches allow, and the
// shortest piece of the program's launches, from the steady steps on, that has each of them. ncu
// is told which names match, how many matching launches to skip and how many to count; it ends the
// program then.
LaunchSelection SelectLaunches(const GpuTimeline& timeline, std::size_t most_launches);

struct JoinedCounts {
  std::vector<CountedKernel> kernels;
  // [1] Counted launches that no kernel gets: of their name, grid and block there are several
  double unassigned = 0;
};

// Returns the regular expression that matches exactly these names.
std::string ExactNames(const std::vector<std::string>& names);

// Returns the counts of the timeline's kernels: means over their counted launches. A launch belongs
// to the kernel of the same grid and block whose mangled or full C++ name is the same. Without
// such a kernel it belongs to the one whose function name, grid and block are the same, if there is
// only one. If launches of one name, grid and block do different work (GpuKernelUse::variant),
// their place among the counted ones tells which they are: `order` is what was to be counted
// (LaunchSelection::order). Where the counted launches are others, such kernels have no counts.
JoinedCounts JoinCounts(const GpuTimeline& timeline,
                        const std::vector<imports::CountedLaunch>& launches,
                        const std::vector<std::uint32_t>& order);

// Returns why there is nothing to report: no process used CUDA, CUPTI failed, nothing ran.
std::optional<Reason> NothingTraced(const GpuProgram& program);

// Returns a record for each kernel that the first timeline has in a step. A record is the sum of
// the kernel's launches in a step: its time comes from the trace, and its work is the counts of one
// launch times the number of launches. Sets GpuKernelUse::record, and GpuCounting::kernels and
// share.
std::vector<record::Record> RecordsOf(GpuProgram& program, const std::string& set,
                                      const std::vector<CountedKernel>& counted);

nlohmann::json ToJson(const GpuProgram& program);
// Reads context.dlroof.gpu_program, if it exists. Ignores members with an unexpected type.
std::optional<GpuProgram> GpuProgramOf(const nlohmann::json& context);

// What would make the program faster.
struct GpuAdvice {
  double seconds = 0;  // [s] of a step that it may save at most
  std::string text;    // one or two sentences
};
// Returns the advice, the largest saving first. Only what is at least 3 % of a step.
std::vector<GpuAdvice> AdviceOf(const GpuTimeline& timeline, const roofline::PlacedRun& placed);

// Returns the report of a run file with a GPU program: what would give most, the time of a step,
// its kernels, streams, gaps and copies, and what the trace cost. Empty for other files.
// `full_names`: kernels' names are not shortened, and all kernels are shown.
document::Document GpuProgramDocument(const roofline::PlacedRun& run, bool full_names = false);

}  // namespace dlroof::programs
