// A program's primitives alone: dlroof_bench runs those with most time by their names.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "baselines/programs/program_summary.h"
#include "reporters/record/run_file.h"

namespace dlroof::profile {

struct ReplayRequest {
  int count = 0;        // [1] how many primitives
  std::string bench;    // the program; empty: dlroof_bench beside this one
  std::string command;  // of dlroof, for messages: "profile"
};

// Chooses the `count` primitives with most time that have a benchmark; gives those with as much
// time that have none a reason. Returns indices into summary.primitives, the longest first.
std::vector<std::size_t> ChooseReplayed(int count, programs::ProgramSummary& summary);

// Puts the times of the replay's records beside those of the program's: of each benchmark one of
// its name, and one with "/cold" behind it.
void AddSingleThreaded(const record::RunFile& program, const std::vector<std::size_t>& chosen,
                       const std::vector<record::Record>& records,
                       programs::ProgramSummary& summary);

// Measures them in one process, with as many threads as the program's library has: with their data
// in the caches, and in none. Replaces context.dlroof.program of the run. After an interrupt the
// run stays as it is. Throws BadInput where dlroof_bench fails.
void Replay(const ReplayRequest& request, record::RunFile& run, std::ostream& log);

}  // namespace dlroof::profile
