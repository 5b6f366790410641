// Trials of settings: of a benchmark (interleaved processes of dlroof_bench) and of any program (a
// process whose output is read); the order in which a breakdown suggests to try coordinates; and
// the system load during a tuning (Linux).
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
  double stolen = 0;  // by the host of a virtual machine
};
// Parses the text of /proc/stat; returns nothing for another format.
std::optional<CpuUse> ParseCpuUse(std::string_view text, double ticks_per_second);

// Returns a sentence about the CPU time of other programs between two readings, in which this
// program used `own` [s]. Returns nothing if no time has passed.
std::optional<std::string> SystemLoadText(const CpuUse& before, const CpuUse& after, double own);

// Observes the system load from its construction on.
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
  workload::BenchmarkName name;  // at the default setting
  double timeout_seconds = 60;   // [s] for each answer of a process
};

// Returns the function that measures a block. Each setting of a block gets a new process, and only
// one process runs at a time. If a process fails, the result has the reason. After a noisy block
// the function waits up to 2 s.
tuning::MeasureBlock BenchTrials(const BenchTrialRequest& request);

struct Proposal {
  tuning::Setting setting;
  std::string text;  // "on 1 thread"
};

// Returns the setting that may reduce the breakdown's largest component, or nothing if no setting
// can (but another batch size or shape might).
std::optional<Proposal> ProposalOf(const breakdown::Breakdown& breakdown, int threads);

// Measures the proposal and the default interleaved, for at most `budget_seconds` [s]. Returns a
// sentence with the ratio, or with the reason why there is none.
std::string TryProposal(const Proposal& proposal, const BenchTrialRequest& request,
                        double budget_seconds);

// The number that a tuning minimizes (a time) or maximizes (a rate).
struct Objective {
  std::optional<std::string> read;  // regular expression with one group that finds the number in
                                    // the output, unless the objective is wall time
  bool per_second = false;          // the number is a rate
};

struct CommandTrialRequest {
  std::vector<std::string> command;
  Objective objective;
  double timeout_seconds = 600;  // [s] for a run
};

// A program's process under a setting.
struct TunedCommand {
  std::vector<std::string> command;
  Variables environment;  // in addition to this process's environment
};
TunedCommand CommandUnder(const std::vector<std::string>& command, const tuning::Setting& setting);

// Returns the result of a run from its end and output: a window whose `seconds` are the objective,
// or its reciprocal for a rate; or the reason of the failure.
tuning::TrialResult ResultOf(const ProcessEnd& end, double wall_seconds, const std::string& out,
                             const std::string& err, const Objective& objective);

// Returns the function that runs the program under a setting. It ends a run, and its setting fails,
// after the request's timeout or five times the longest run of the default. Throws BadInput for an
// invalid regular expression and a program that cannot be started.
tuning::Trial CommandTrial(const CommandTrialRequest& request);

// Sorts the coordinates by the share of the default's time that they can reduce, and sets their
// reasons: threads by fork, join, waiting, sharing and serial components, the others by the
// threads' busy time above the roof. Layout, huge pages and allocator come before the others if
// `memory_bound`, else after them.
void SortByBreakdown(const breakdown::Breakdown& breakdown, bool memory_bound,
                     std::vector<tuning::Coordinate>& coordinates);

// A coordinate's name -> the parts of a program's time that it acts on.
using ActsOn = std::map<std::string, std::set<programs::ProgramComponentKind>>;

// Sorts the coordinates by the share of the program's time that they act on and appends it to their
// reasons. Coordinates that are not in `acts_on` act on all of it. The sort is stable.
void SortByProgram(const programs::ProgramBreakdown& breakdown, const ActsOn& acts_on,
                   std::vector<tuning::Coordinate>& coordinates);

}  // namespace dlroof::tune
