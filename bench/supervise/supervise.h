// Measures each benchmark in its own process, or those of two builds or two versions of oneDNN
// interleaved, for the commands run, compare --again, gate and bisect.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/compare/compare.h"
#include "baselines/compare/paired_record.h"
#include "bench/supervise/supervised_program.h"

namespace dlroof::supervise {

struct RunRequest {
  std::vector<std::string> programs;   // paths of one program, or of BASE and NEW
  std::vector<std::string> libraries;  // two files of oneDNN, for BASE and NEW; or empty
  std::vector<std::string> outputs;    // paths of run files, one per program
  std::vector<std::string> arguments;  // flags for the programs
  bool resume = false;
  bool random_order = true;
  std::optional<std::uint64_t> seed;     // of the random order; drawn if absent
  std::optional<double> budget_seconds;  // [s] after this time no benchmark begins
  double timeout_seconds = 600;          // [s] limit for one benchmark, or one block of it
  int processes = 1;                     // [1] processes per benchmark (one program only)
  int retries = 2;                       // [1] further measurements if noisy; needs processes == 1
  double cooldown_seconds = 2;           // [s] before the first retry, doubled each time
  double min_effect = 0.02;              // [1] for two programs (see StopRule)
  compare::NameMap names;                // BASE's benchmark -> NEW's (two programs)
  // Stream for tables of results; null: standard output. If set, no message suggests --resume.
  std::ostream* tables = nullptr;
};

// When an interleaved measurement of a benchmark ends.
struct StopRule {
  int benchmarks = 1;        // [1] number of benchmarks in the comparison
  double min_effect = 0.02;  // [1] 0.02: ratios from 1 / 1.02 to 1.02 count as the same
};

// Returns whether measuring can stop: the interval of the ratio is within the minimum effect, or
// the ratio is beyond it with a p-value of at most 1 % that is significant for any p-values of the
// other benchmarks (statistics::AdjustedPValues).
bool IsSettled(const statistics::Shift& shift, const StopRule& rule);

// Measures one program, or BASE and NEW interleaved. Writes results to `request.tables`, progress
// to `log`. Returns the exit code: for one program 0, or 1 if a benchmark failed; for two programs
// the comparison's (compare.h); after an interrupt InterruptCode().
int Supervise(const RunRequest& request, std::ostream& log);

// Returns whether the run is complete: the same command wrote its output, and there is no journal.
bool IsFinished(const RunRequest& request);

// A run in progress: its journal, new or resumed, and the ceilings for its processes.
class OpenRun {
 public:
  // Starts or resumes a run. Throws BadInput if an unfinished run exists without `resume`, if it
  // has other programs or arguments, or if a program lists no benchmarks.
  OpenRun(const RunRequest& request, std::ostream& log);

  const RunRequest& request() const { return request_; }
  const JournalHeader& header() const { return header_; }
  const std::vector<JournalEntry>& finished() const { return journal_.found().entries; }
  const nlohmann::json& machines() const { return machines_; }
  const TemporaryFolder& folder() const { return folder_; }

  // Returns whether program `side` (0: BASE) is a Google Benchmark program without dlroof.
  bool IsPlain(std::size_t side) const {
    return side < header_.plain.size() && header_.plain[side];
  }
  std::ostream& tables() const;
  // Returns the arguments of program `side`.
  std::vector<std::string> ArgumentsOf(std::size_t side) const;
  // Returns the command line with which program `side` (0 is BASE) measures the benchmark `listed`.
  std::vector<std::string> Command(std::size_t side, const std::string& listed,
                                   const ProcessPaths& paths) const;
  // Measures the benchmark in one process, without interleaving. `more`: further arguments. Returns
  // nullopt after an interrupt.
  std::optional<Outcome> RunStandalone(std::size_t side, const std::string& listed,
                                       const std::vector<std::string>& more);
  // Returns the outcome of a process (OutcomeOf). `end`: nullopt if the timeout ended it.
  Outcome Finished(const std::optional<ProcessEnd>& end, const ProcessPaths& paths);

  void Append(const JournalEntry& entry);
  // Returns what is left of the budget [s], infinity without a budget.
  double SecondsLeft() const;
  // Returns whether the run has to end: the user has interrupted it, or the budget is spent.
  bool Over() const;
  // Returns members for context.dlroof of the run file: the command, its settings and the seed.
  nlohmann::json About() const;
  void RemoveJournal() { journal_.Remove(); }

 private:
  void Begin();
  void CheckResumed() const;
  void FindCeilings();

  const RunRequest& request_;
  std::ostream& log_;
  double begin_seconds_ = 0;
  TemporaryFolder folder_;
  JournalFile journal_;
  JournalHeader header_;
  nlohmann::json machines_;
  bool machines_in_journal_ = false;
  std::optional<std::string> machine_file_;  // the CPU's ceilings, for CPU benchmarks
};

// Two runs that were measured interleaved, and their comparison, which refers to both.
struct Interleaved {
  compare::NamedRun base, contender;
  compare::CompareResult result;
};

// Measures the benchmarks `names` of the request's two programs interleaved. Returns null if
// nothing was measured: the budget was too small, the user interrupted, or a program lacks the
// benchmarks (with a message in `log`). Sets the request's outputs and tables.
std::unique_ptr<Interleaved> Interleave(const RunRequest& request,
                                        const std::vector<std::string>& names, std::ostream& log);

struct Settings {
  std::string program;                        // program that measured the new run
  std::vector<std::string> arguments;         // for both programs
  std::optional<std::string> stored_program;  // program of a stored run
  double budget_seconds = 600;                // [s] after this time nothing more is measured
  std::optional<double> min_effect;           // [1] of interleaved runs; absent: 0.02
};

// Compares a new run with stored runs: calls compare::Compare or compare::CompareWithStored.
using CompareRun = std::function<compare::CompareResult(const compare::NamedRun& contender)>;

struct Settled {
  compare::CompareResult result;
  std::set<std::string> again;        // benchmarks that were measured again
  std::set<std::string> interleaved;  // benchmarks whose verdict is from an interleaved measurement
  std::vector<std::string> unclear;   // benchmarks that may still be slower
  // The runs that `result` points to.
  std::deque<compare::NamedRun> runs;
  std::vector<std::unique_ptr<Interleaved>> pairs;
};

// Verdicts are checked by `rerun`, a second run of some or all of NEW's benchmarks, because all
// repetitions of one process may be faster than those of another.

// Throws BadInput if `rerun` differs from `contender` in machine, settings or build, has a
// benchmark name twice, or is the same measurement.
void CheckRerun(const compare::NamedRun& contender, const compare::NamedRun& rerun);
// Sets verdicts slower and faster to ambiguous unless `rerun` confirms them: a change in the same
// direction by more than the minimum effect. Sets result.rerun, and recounts the verdicts.
void Confirm(const compare::NamedRun& rerun, compare::CompareResult& result);

// Compares `contender`, then measures unclear benchmarks (history::UnclearNames) again, the most
// suspicious first, until none is unclear, the budget is spent or the user interrupts. With a
// stored program, verdicts of interleaved measurements replace the first verdicts. Without it,
// measures NEW up to three more times, judges the repetitions of all runs together, and lets the
// last run confirm a slowdown (Confirm). `contender` must outlive the result.
Settled Settle(const compare::NamedRun& contender, const CompareRun& compare,
               const Settings& settings, std::ostream& log);

// dlroof bisect: finds the commit that changed a benchmark's time. Builds commits in temporary Git
// worktrees and measures each interleaved with the commit GOOD.

struct Request {
  std::string repository = ".";        // a folder in the repository
  std::string good, bad;               // git revisions
  std::string name;                    // name of the benchmark
  std::vector<std::string> arguments;  // for the benchmark program
  // `build` is a shell command, run in the root of a worktree; `program` is the path of the program
  // that it builds there.
  std::string build =
      "cmake --preset release >/dev/null && cmake --build build --target dlroof_bench";
  std::string program = "build/dlroof_bench";
  double budget_seconds = 120;  // [s] for measuring one commit
  double min_effect = 0.02;     // [1] smaller differences between GOOD and BAD are ignored
};

// Exit codes of bisect.
inline constexpr int kFound = 0, kCannotTell = 3;

// Finds the commit and prints it to `out`. Returns kFound, or kCannotTell if BAD does not differ
// from GOOD or if several commits remain because commits were skipped. Throws BadInput if GOOD is
// not an ancestor of BAD, or if GOOD or BAD does not build or lacks the benchmark.
int Bisect(const Request& request, std::ostream& out, std::ostream& log);

// Parses the output of `git rev-list --bisect-all`: a commit per line, the best to test next first,
// with its distance in parentheses. Returns the commits.
std::vector<std::string> ParseBisectAll(std::string_view output);

enum class Finding { kLikeGood, kLikeBad, kSkipped };

// Returns `bad` and all commits that are reachable from `bad`, but from none of `goods`; the best
// one to test next is first.
using Candidates = std::function<std::vector<std::string>(const std::string& bad,
                                                          const std::vector<std::string>& goods)>;

// Searches for the first commit that behaves as `bad`, by bisection. `test` gets a commit and the
// number of commits left [1]. Returns the commits that may be the first one: one commit, or several
// if commits were skipped. Pure: asks Git through `candidates`.
std::vector<std::string> FindSuspects(
    const std::string& good, std::string bad, const Candidates& candidates,
    const std::function<Finding(const std::string& commit, std::size_t left)>& test);

}  // namespace dlroof::supervise
