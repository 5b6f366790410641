// The GPU half of a program's profile: the timelines of its processes, what tracing them cost, and
// which of their kernels were counted. The content of context.dlroof.gpu_program of a run file.
// Pure.
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
#include "reporters/imports/ncu.h"
#include "reporters/record/record.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::programs {

// A process whose work was traced, or could not be.
struct GpuProcess {
  std::optional<std::uint32_t> pid;
  std::string command;
  double launches = 0, copies = 0, fills = 0;  // [1]
  double calls = 0, ranges = 0;                // [1]
  double dropped = 0, untimed = 0;             // [1] records that were lost
  bool ended = false;   // by exit(); otherwise the last moments may be missing
  bool full = false;    // the trace reached its largest size
  std::string failure;  // why nothing could be traced; "" if it could
  std::vector<std::string> remarks;
};

// What Nsight Compute counted of a kernel: means over its counted launches.
struct CountedKernel {
  std::string name;  // mangled, as in the trace
  gpu_trace::Size3 grid = {}, block = {};
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
};

struct GpuProgram {
  std::string command;
  std::optional<double> wall_seconds;  // [s] of the program
  std::optional<std::string> stopped;  // why it was ended early
  std::vector<GpuProcess> processes;
  std::vector<GpuTimeline> timelines;  // the most kernel time first
  GpuCounting counting;
};

// Traces of other runs of the same program, by process; empty: there was no such run.
struct OtherRuns {
  std::vector<gpu_trace::Trace> nodes;  // with the nodes of CUDA graphs, for TakeNodes
  std::vector<gpu_trace::Trace> calls;  // with calls alone, for AddPace
};
GpuProgram ProgramOfTraces(const std::vector<gpu_trace::Trace>& traces,
                           std::optional<int> steps = std::nullopt, const OtherRuns& others = {});
// Which other runs have something to tell.
bool NeedsNodes(const std::vector<gpu_trace::Trace>& traces);
bool NeedsCalls(const GpuProgram& program);

inline constexpr double kCountSeconds = 0.2;  // [s] that counting one launch costs, on an H200

// The launches that Nsight Compute shall count.
struct LaunchSelection {
  std::vector<std::string> arguments;  // of ncu, before the program
  std::size_t launches = 0;            // [1] that ncu will count
  std::set<std::uint32_t> kernels;     // that they stand for: indices of GpuTimeline::kernels
  double share = 0;                    // [1] of these kernels of the kernels' time of a step
};

// Chooses successive launches of the kernels with most time in a steady step (without steps: in the
// trace): all of them, or of a longer step those `max_launches` that stand for most of its time. A
// kernel is stood for by launches that take as long in the mean as all of its launches in the step,
// within 10 %. ncu is told which names match, how many matching launches to skip and how many to
// count; it ends the program then.
LaunchSelection SelectLaunches(const GpuTimeline& timeline, std::size_t max_launches);

// Returns the regular expression that matches exactly these names.
std::string ExactNames(const std::vector<std::string>& names);

// Returns the counts of the chosen kernels: means over their counted launches. A launch belongs to
// the kernel with its grid, block and mangled or full C++ name. Where the second run chose another
// grid (autotuning), the only kernel of a name without a launch has the launches of this name that
// belong to no kernel, if all of these have one grid.
std::vector<CountedKernel> JoinCounts(const GpuTimeline& timeline, const LaunchSelection& selection,
                                      const std::vector<imports::CountedLaunch>& launches);

// Returns why there is nothing to report: no process used CUDA, CUPTI failed, nothing ran.
std::optional<Reason> NothingTraced(const GpuProgram& program);

// Returns a record for each kernel that the first timeline has in a step. A record is the sum of
// the kernel's launches in a step: its time comes from the trace, and its work is the mean counts
// of a launch times the number of launches. Sets GpuKernelUse::record, and GpuCounting::kernels and
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
std::vector<GpuAdvice> AdviceOf(const GpuTimeline& timeline);

// Returns the report of a run file with a GPU program: what would give most, the time of a step,
// its kernels, streams, gaps and copies, and what the trace cost. Empty for other files.
// `full_names`: kernels' names are not shortened, and all kernels are shown.
document::Document GpuProgramDocument(const roofline::PlacedRun& run, bool full_names = false);

}  // namespace dlroof::programs
