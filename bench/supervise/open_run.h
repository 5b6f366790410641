// A run in progress: its journal, opened or begun, and the ceilings for its processes.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "bench/supervise/journal.h"
#include "bench/supervise/supervise.h"
#include "bench/supervise/supervised_program.h"

namespace dlroof::supervise {

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
  std::optional<Outcome> RunAlone(std::size_t side, const std::string& listed,
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
