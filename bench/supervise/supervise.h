// dlroof run: measures each benchmark in its own process and keeps a journal, or measures the
// benchmarks of two builds interleaved.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "baselines/compare/paired_record.h"
#include "bench/supervise/journal.h"
#include "bench/supervise/supervised_program.h"

namespace dlroof::supervise {

struct RunRequest {
  std::vector<std::string> programs;   // one, or BASE's and NEW's
  std::vector<std::string> outputs;    // the run file of each program
  std::vector<std::string> arguments;  // for the programs
  bool resume = false;
  bool random_order = true;
  std::optional<std::uint64_t> seed;     // of the order, if it is not drawn
  std::optional<double> budget_seconds;  // [s] no benchmark begins later
  double timeout_seconds = 600;          // [s] for one benchmark, or one block of it
  int retries = 2;                       // [1] of a noisy benchmark
  double cooldown_seconds = 2;           // [s] before the first retry, doubled each time
  double min_effect = 0.02;              // [1] between two programs, see StopRule
  compare::NameMap names;                // BASE's benchmark -> NEW's, of two programs
  // Called before each benchmark of a run of one program, with its position in the order, from 0,
  // and its name as the program lists it. May be empty.
  std::function<void(std::size_t position, const std::string& listed)> before;
};

// Returns the exit code: 0, 1 if a benchmark failed, 130 after an interrupt. Writes progress to
// `log`.
int Supervise(const RunRequest& request, std::ostream& log);
// Measures BASE and NEW interleaved and writes the comparison to standard output. Returns the exit
// code of the comparison (compare.h), or 130.
int SuperviseBlocks(const RunRequest& request, std::ostream& log);

// Returns whether this request was completed before: its output exists, was written by the same
// command, and has no journal.
bool IsFinished(const RunRequest& request);

// A run in progress: its journal, new or resumed, and the ceilings for its processes.
class OpenRun {
 public:
  // Throws BadInput for an unfinished run without `resume`, if the unfinished run had other
  // programs or arguments, and for programs that list no benchmarks.
  OpenRun(const RunRequest& request, std::ostream& log);

  const RunRequest& request() const { return request_; }
  const JournalHeader& header() const { return header_; }
  const std::vector<JournalEntry>& finished() const { return journal_.found().entries; }
  const nlohmann::json& machines() const { return machines_; }
  const TemporaryFolder& folder() const { return folder_; }

  // Returns the command line of program `side` (0 is BASE) for one of its benchmarks.
  std::vector<std::string> Command(std::size_t side, const std::string& listed,
                                   const ProcessPaths& paths) const;
  // Runs the benchmark without interleaving. Returns nothing after an interrupt.
  std::optional<Outcome> RunStandalone(std::size_t side, const std::string& listed,
                                       const std::vector<std::string>& more);
  // Reads the outcome of a process; see OutcomeOf.
  Outcome Finished(const std::optional<ProcessEnd>& end, const ProcessPaths& paths);

  void Append(const JournalEntry& entry);
  // Returns whether no benchmark may begin: after an interrupt, or when the budget is spent.
  bool Over() const;
  // Returns the part of context.dlroof that describes this run.
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
  std::optional<std::string> machine_file_;  // the CPU's ceilings, if the run has CPU benchmarks
};

}  // namespace dlroof::supervise
