// The use of this machine's CPUs beside a measurement. Linux.
//
// Trials of a benchmark: processes of dlroof_bench that take turns; and the trial that the largest
// part of a breakdown proposes.
//
// Trials of any program: a process under a setting, and how its result is read.
//
// The order in which coordinates are tried, from the breakdown of the default. Pure.
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

// All [s], summed over the CPUs since the system started.
struct CpuUse {
  double busy = 0, idle = 0;
  double stolen = 0;  // by the host of a virtual machine
};
// Returns the use of /proc/stat's text; absent: it is not of that form.
std::optional<CpuUse> ParseCpuUse(std::string_view text, double ticks_per_second);

// Returns a sentence about what others used between two readings, of which `own` [s] were ours.
std::string SystemLoadText(const CpuUse& before, const CpuUse& after, double own);

// Watches from its making on.
class SystemLoad {
 public:
  SystemLoad();
  // Empty: the system does not tell.
  std::string Text() const;

 private:
  std::optional<CpuUse> before_;
  double own_before_;
};

struct BenchTrialRequest {
  std::string program;           // dlroof_bench
  workload::BenchmarkName name;  // at the default setting
  double timeout_seconds = 60;   // [s] for each answer of a process
};

// Returns the measurement of blocks. The settings of a block are fresh processes, of which all but
// one are stopped at each moment. A process that fails leaves its reason as result. After blocks
// whose windows were noisy it waits, up to 2 s.
tuning::MeasureBlock BenchTrials(const BenchTrialRequest& request);

struct Proposal {
  tuning::Setting setting;
  std::string words;  // "on 1 thread"
};

// Absent: the largest part proposes nothing that a setting could do (another batch, another shape).
std::optional<Proposal> ProposalOf(const breakdown::Breakdown& breakdown, int threads);

// Measures the proposal against the default interleaved, for at most so many seconds; returns a
// sentence with the ratio, or with why there is none.
std::string TryProposal(const Proposal& proposal, const BenchTrialRequest& request,
                        double budget_seconds);

// The number that a tuning makes small (a time) or large (a rate).
struct Objective {
  std::string read;         // regular expression with one group, of the output; empty: wall time
  bool per_second = false;  // the number is a rate: more is better
};

struct CommandTrialRequest {
  std::vector<std::string> command;
  Objective objective;
  double timeout_seconds = 600;  // [s] for a run
};

// A program's process under a setting.
struct TunedCommand {
  std::vector<std::string> command;
  Variables environment;  // beside its own
};
TunedCommand CommandUnder(const std::vector<std::string>& command, const tuning::Setting& setting);

// Returns what a run's end and output say: a window of the objective, whose `seconds` is the number
// itself, or one over it for a rate; or why it failed.
tuning::TrialResult ResultOf(const ProcessEnd& end, double wall_seconds, const std::string& out,
                             const std::string& err, const Objective& objective);

// Returns the trial. A run ends, and its setting fails, after the request's time, or after five
// times the longest run of the default. Throws BadInput: no pattern, or a program that cannot be
// started.
tuning::Trial CommandTrial(const CommandTrialRequest& request);

// Sorts the coordinates by the share of the default's time that they can act on, and says why:
// threads by what fork, join, waiting, sharing and serial parts take, the others by the threads'
// busy time above the roof. Layout, huge pages and allocator come before the others where
// `memory_bound`, else after them.
void SortByBreakdown(const breakdown::Breakdown& breakdown, bool memory_bound,
                     std::vector<tuning::Coordinate>& coordinates);

// A coordinate's name -> the parts of a program's time that it acts on.
using ActsOn = std::map<std::string, std::set<programs::ProgramComponentKind>>;

// Sorts the coordinates by the share of the program's time that they act on, and says so in their
// reasons. One that is not in `acts_on` acts on all of it. Among equals the order stays.
void SortByProgram(const programs::ProgramBreakdown& breakdown, const ActsOn& acts_on,
                   std::vector<tuning::Coordinate>& coordinates);

}  // namespace dlroof::tune
