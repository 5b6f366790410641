// Trials of settings, for a benchmark (interleaved processes of dlroof_bench) or any program (whose
// output is read). Also sorts coordinates by a time breakdown, and reports the system load (Linux).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/programs/program_report.h"
#include "baselines/tuning/tuning.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/process.h"
#include "reporters/breakdown/breakdown.h"

namespace dlroof::tune {

// CPU time since the system started, summed over the CPUs. [s]
struct CpuUse {
  double busy = 0, idle = 0;
  double stolen = 0;  // taken by the host of a virtual machine
};
// Parses the text of /proc/stat. Returns nothing for an unknown format.
std::optional<CpuUse> ParseCpuUse(std::string_view text, double ticks_per_second);

// Returns a sentence about the CPU time that other programs used between two readings, when this
// program used `own` [s]. Returns nothing if no time has passed. Whether the machine was busy is
// judged by the trials' own spread (tuning::SpreadOf): other programs' CPU time says nothing about
// shared caches and clocks.
std::optional<std::string> SystemLoadText(const CpuUse& before, const CpuUse& after, double own);

// Measures the system load since its construction.
class SystemLoad {
 public:
  SystemLoad();
  // Returns SystemLoadText, or nothing if the system does not report CPU use.
  std::optional<std::string> Text() const;

 private:
  std::optional<CpuUse> before_;
  double own_before_;
};

struct BenchTrialRequest {
  std::string program;           // dlroof_bench
  workload::BenchmarkName name;  // under the default setting
  double timeout_seconds = 60;   // [s] for each answer of a process
};

// Returns the time of one call on the GPU [s]: in a CUDA graph if `graph`, else Repetition::seconds
// (a queued call). Returns nothing if `graph` and no graph was measured.
std::optional<double> DeviceSeconds(const record::Repetition& repetition, bool graph);

// Returns the function that measures a block: each setting in a new process, one process at a time.
// The times of a GPU benchmark are DeviceSeconds.
// The result of a failed process has the reason. After a noisy block the function waits up to 2 s.
tuning::MeasureBlock BenchTrials(const BenchTrialRequest& request);

struct Proposal {
  tuning::Setting setting;
  std::string text;  // in messages: "on 1 thread"
};

// Returns the setting that may reduce the breakdown's largest component. Returns nothing if no
// setting can reduce it, even if another batch size or shape might.
std::optional<Proposal> ProposalOf(const breakdown::Breakdown& breakdown, int threads);

// Returns the other ways to compute the GPU benchmark `name` that its operator lists: the options
// that its name may have, and its name without one of them.
std::vector<Proposal> GpuProposals(const workload::BenchmarkName& name);

struct GpuTryRequest {
  std::optional<std::string> bench;  // see supervise::BenchProgram
  workload::BenchmarkName name;      // of the default
};

// Measures the default and the proposals one after the other in one process. Returns a sentence for
// each proposal: its time on the device beside the default's, or why it has no time. Returns
// nothing after an interrupt. Throws BadInput if the process fails.
std::vector<std::string> TryOnGpu(const std::vector<Proposal>& proposals,
                                  const GpuTryRequest& request);

// Returns the sentence of TryOnGpu for one proposal.
std::string ComparedText(const Proposal& proposal, const record::Record& before,
                         const record::Record& after);

// Measures the proposal and the default interleaved, for at most `budget_seconds` [s]. Returns a
// sentence with the ratio of their times, or with the reason why there is no ratio.
std::string TryProposal(const Proposal& proposal, const BenchTrialRequest& request,
                        double budget_seconds);

// The number that a tuning minimizes (a time) or maximizes (a rate).
struct Objective {
  std::optional<std::string> read;  // regular expression with one group, the number in the
                                    // program's output; absent: the wall time is minimized
  bool per_second = false;          // the number is a rate
};

struct CommandTrialRequest {
  std::vector<std::string> command;
  Objective objective;
  double timeout_seconds = 600;  // [s] limit for a run
};

// How to run a program under a setting.
struct TunedCommand {
  std::vector<std::string> command;
  Variables environment;  // in addition to this process's environment
};
TunedCommand CommandUnder(const std::vector<std::string>& command, const tuning::Setting& setting);

// Returns the result of a run that ended with `end` and wrote `out` and `err`: a window whose
// `seconds` are the objective (the reciprocal of a rate), or the reason of the failure.
tuning::TrialResult ResultOf(const ProcessEnd& end, double wall_seconds, const std::string& out,
                             const std::string& err, const Objective& objective);

// Returns the function that runs the program under a setting. A setting fails if its run takes
// longer than the request's timeout or about five times the longest run of the default. Throws
// BadInput for an invalid regular expression or a program that cannot be started.
tuning::Trial CommandTrial(const CommandTrialRequest& request);

// Sorts the coordinates by the share of the default's time that they can reduce, and sets their
// reasons. The thread count reduces fork, join, waiting, sharing and serial time; other coordinates
// reduce busy time above the roof. Layout, huge pages and allocator come before the others if
// `memory_bound`, else after them.
void SortByBreakdown(const breakdown::Breakdown& breakdown, bool memory_bound,
                     std::vector<tuning::Coordinate>& coordinates);

// For each coordinate (by name): the components of a program's time that the coordinate changes.
using ActsOn = std::map<std::string, std::set<programs::ProgramComponentKind>>;

// Sorts the coordinates by the share of the program's time that they change, and appends the share
// to their reasons. Coordinates that are not in `acts_on` change all of it. The sort is stable.
void SortByProgram(const programs::ProgramBreakdown& breakdown, const ActsOn& acts_on,
                   std::vector<tuning::Coordinate>& coordinates);

}  // namespace dlroof::tune
