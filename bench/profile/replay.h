// Replays a program's primitives standalone: dlroof_bench measures the longest ones by their names.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "baselines/programs/program_summary.h"
#include "reporters/record/run_file.h"

namespace dlroof::profile {

struct ReplayRequest {
  int count = 0;                     // [1] number of primitives
  std::optional<std::string> bench;  // see supervise::BenchProgram
  std::string command;               // of dlroof, for messages: "profile"
};

// Chooses the `count` longest primitives that have a benchmark. Sets the reason of longer ones that
// have none. Returns indices into summary.primitives, the longest first.
std::vector<std::size_t> ChooseReplayed(int count, programs::ProgramSummary& summary);

// Adds the standalone times of the replay's records to the chosen primitives. `records` has for
// each primitive a record with the name of its benchmark and one with "/cold" appended.
void AddStandaloneTimes(const record::RunFile& program, const std::vector<std::size_t>& chosen,
                        const std::vector<record::Record>& records,
                        programs::ProgramSummary& summary);

// Measures the primitives in one process, with the number of threads of the program's library, warm
// and cold. Replaces context.dlroof.program of the run; after an interrupt the run is not changed.
// Throws BadInput if dlroof_bench fails.
void Replay(const ReplayRequest& request, record::RunFile& run, std::ostream& log);

}  // namespace dlroof::profile
