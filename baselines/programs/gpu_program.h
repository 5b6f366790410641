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
#include "counters/gpu_trace/read.h"
#include "counters/work.h"
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

GpuProgram ProgramOfTraces(const std::vector<gpu_trace::Trace>& traces,
                           const TimelineOptions& options = {});

// Returns why there is nothing to report: no process used CUDA, CUPTI failed, nothing ran.
std::optional<Reason> NothingTraced(const GpuProgram& program);

// Returns a record for each kernel of the first timeline that is in a step: the sum over its
// launches in a step, its time that of the trace, its work what one launch was counted to do times
// the launches. Sets GpuKernelUse::record, and GpuCounting::kernels and share.
std::vector<record::Record> RecordsOf(GpuProgram& program, const std::string& set,
                                      const std::vector<CountedKernel>& counted);

nlohmann::json ToJson(const GpuProgram& program);
// Reads context.dlroof.gpu_program, if it exists. Ignores members with an unexpected type.
std::optional<GpuProgram> GpuProgramOf(const nlohmann::json& context);

// What would make the program faster.
struct GpuAdvice {
  std::string kind;    // "idle", "graphs", "copies", "layouts", "fusion", "tf32", "roofs"
  double seconds = 0;  // [s] of a step that it may save at most
  std::string text;    // one or two sentences
};
// Returns the advice, the largest saving first. Only what is at least 3 % of a step.
std::vector<GpuAdvice> AdviceOf(const GpuTimeline& timeline, const roofline::PlacedRun* placed);

// Writes the report of a run file with a GPU program; nothing for other files. `width` [columns].
void WriteGpuProgram(const roofline::PlacedRun& run, int width, std::ostream& out,
                     bool full_names = false);

// Returns the shares [1] in tenths of a percent, so that their sum is 1000 if that of `values` is
// not 0: the largest remainders are rounded up.
std::vector<int> SharesInTenths(const std::vector<double>& values);

}  // namespace dlroof::programs
