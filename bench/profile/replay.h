// Replays a program's primitives standalone: dlroof_bench measures the longest ones as benchmarks.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "baselines/programs/program_summary.h"
#include "reporters/record/run_file.h"

namespace dlroof::profile {

struct ReplayRequest {
  int count = 0;        // [1] number of primitives
  std::string command;  // the dlroof command, for messages: "profile"
};

// Returns the indices in summary.primitives of the `count` longest primitives that have a
// benchmark, the longest first. Stores in longer primitives the reason why they have no benchmark.
std::vector<std::size_t> ChooseReplayed(int count, programs::ProgramSummary& summary);

// Adds the standalone times in `records` to the chosen primitives. `records` has two records for
// each primitive: one with its benchmark's name and one with "/cold" appended.
void AddStandaloneTimes(const record::RunFile& program, const std::vector<std::size_t>& chosen,
                        const std::vector<record::Record>& records,
                        programs::ProgramSummary& summary);

// Measures the primitives in one process, warm and cold, with the number of threads of the
// program's library. Those that are faster with cold caches are measured once more. Those that are
// slower in the program, which cold caches do not explain, are also measured beside a busy CPU and
// on half of the threads. Replaces context.dlroof.program of `run`, unless an interrupt ends the
// measurement. Throws BadInput if dlroof_bench fails.
void Replay(const ReplayRequest& request, record::RunFile& run, std::ostream& log);

}  // namespace dlroof::profile
