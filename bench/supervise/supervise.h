// dlroof run: measures each benchmark in its own process and writes a journal, or measures the
// benchmarks of two builds, or of two versions of oneDNN, interleaved.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "baselines/compare/paired_record.h"
#include "bench/supervise/journal.h"
#include "bench/supervise/supervised_program.h"

namespace dlroof::supervise {

struct RunRequest {
  std::vector<std::string> programs;   // paths: of one program, or of BASE and NEW
  std::vector<std::string> libraries;  // oneDNN's file for each of two programs, or empty
  std::vector<std::string> outputs;    // the run file of each program
  std::vector<std::string> arguments;  // flags for the programs
  bool resume = false;
  bool random_order = true;
  std::optional<std::uint64_t> seed;     // of the random order; drawn if absent
  std::optional<double> budget_seconds;  // [s] after this time no benchmark begins
  double timeout_seconds = 600;          // [s] for one benchmark, or one block of it
  int processes = 1;                     // [1] processes per benchmark (one program only)
  int retries = 2;                       // [1] of a noisy benchmark if `processes` is 1
  double cooldown_seconds = 2;           // [s] before the first retry, doubled each time
  double min_effect = 0.02;              // [1] between two programs (see StopRule)
  compare::NameMap names;                // BASE's benchmark -> NEW's (two programs)
  // Stream for tables of the results; null: standard output. Set by other commands, which do not
  // resume a run.
  std::ostream* tables = nullptr;
};

// Measures one program, or BASE and NEW interleaved. Writes tables or the comparison to
// `request.tables`, and progress to `log`. Returns the exit code: for one program 0, or 1 if a
// benchmark failed; for two programs the comparison's (compare.h); after an interrupt
// InterruptCode().
int Supervise(const RunRequest& request, std::ostream& log);

// Returns whether this request is already complete: its output exists, was written by the same
// command, and has no journal.
bool IsFinished(const RunRequest& request);

// A run in progress: its journal, new or resumed, and the ceilings for its processes.
class OpenRun {
 public:
  // Throws BadInput if an unfinished run exists without `resume`, if it has other programs or
  // arguments, or if a program lists no benchmarks.
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
  // Returns the stream for tables of the results.
  std::ostream& tables() const;
  // Returns the arguments of program `side`.
  std::vector<std::string> ArgumentsOf(std::size_t side) const;
  // Returns the command line with which program `side` (0 is BASE) measures the benchmark `listed`.
  std::vector<std::string> Command(std::size_t side, const std::string& listed,
                                   const ProcessPaths& paths) const;
  // Measures the benchmark without interleaving, with the further arguments `more`. Returns nullopt
  // after an interrupt.
  std::optional<Outcome> RunStandalone(std::size_t side, const std::string& listed,
                                       const std::vector<std::string>& more);
  // Returns the outcome of a process that has ended; see OutcomeOf.
  Outcome Finished(const std::optional<ProcessEnd>& end, const ProcessPaths& paths);

  void Append(const JournalEntry& entry);
  // Returns whether the run has to end: the user has interrupted it, or the budget is spent.
  bool Over() const;
  // Returns the members of context.dlroof that describe this run.
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

}  // namespace dlroof::supervise
