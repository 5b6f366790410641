// dlroof run: each benchmark in its own process, with a journal; or the benchmarks of two builds,
// interleaved.
//
// A run in progress: its journal, opened or begun, and the ceilings for its processes.
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
  std::vector<std::string> outputs;    // as many run files
  std::vector<std::string> arguments;  // for the programs
  bool resume = false;
  bool random_order = true;
  std::optional<std::uint64_t> seed;     // of the order; absent: drawn
  std::optional<double> budget_seconds;  // [s] no benchmark begins later
  double timeout_seconds = 600;          // [s] for one benchmark, or one block of it
  int retries = 2;                       // [1] of a noisy benchmark
  double cooldown_seconds = 2;           // [s] before the first retry, doubled each time
  double min_effect = 0.02;              // [1] of two programs, as in StopRule
  compare::NameMap names;                // of two programs, BASE's -> NEW's
  // Called before each benchmark of one program with its place in the order, from 0, and its name
  // as the program lists it. Empty: nothing is.
  std::function<void(std::size_t turn, const std::string& listed)> before;
};

// Returns the exit code: 0, 1 if a benchmark failed, 130 after an interrupt. Writes progress to
// `log`.
int Supervise(const RunRequest& request, std::ostream& log);
// Returns the exit code of the comparison (compare.h), or 130. Writes the comparison to standard
// output.
int SuperviseBlocks(const RunRequest& request, std::ostream& log);

// Returns whether the output is there, of this command, and has no journal: nothing is left to do.
bool IsFinished(const RunRequest& request);

class OpenRun {
 public:
  // Throws BadInput for an unfinished run without `resume`, for one of other programs or arguments,
  // and for programs that list nothing.
  OpenRun(const RunRequest& request, std::ostream& log);

  const RunRequest& request() const { return request_; }
  const JournalHeader& header() const { return header_; }
  const std::vector<JournalEntry>& finished() const { return journal_.found().entries; }
  const nlohmann::json& machines() const { return machines_; }
  const TemporaryFolder& folder() const { return folder_; }

  // Returns the command of program `side` for one of its benchmarks.
  std::vector<std::string> Command(std::size_t side, const std::string& listed,
                                   const ProcessPaths& paths) const;
  // Runs the benchmark without turns. Absent: interrupted.
  std::optional<Outcome> RunStandalone(std::size_t side, const std::string& listed,
                                       const std::vector<std::string>& more);
  Outcome Finished(const std::optional<ProcessEnd>& end, const ProcessPaths& paths);

  void Append(const JournalEntry& entry);
  // True if nothing may begin any more: interrupted, or the budget is spent.
  bool Over() const;
  // Returns the part of context.dlroof that describes this run.
  nlohmann::json About() const;
  void Remove() { journal_.Remove(); }

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
  bool machines_kept_ = false;  // in the journal
  std::string machine_file_;
};

}  // namespace dlroof::supervise
