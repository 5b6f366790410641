// One call of a benchmark in a child process under valgrind, which counts between the marks that
// bench/run/simulation_marks.h makes.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "counters/parallel_time.h"

namespace dlroof::caches {

struct SimulatedRun {
  std::string counts;   // the file that callgrind wrote at the mark
  nlohmann::json said;  // by the program (bench/run/simulated_call.h)
};

// Returns the command that runs `program` and writes counts to `file`.
using SimulationCommand = std::function<std::vector<std::string>(
    const std::string& file, const std::vector<std::string>& program)>;

// Runs it on one thread, by dlroof_bench beside this program. Throws std::runtime_error with the
// program's last line where it fails.
SimulatedRun RunSimulated(const std::string& name, unsigned seed, const SimulationCommand& command);

// Counts the instructions of one call of the benchmark on one thread by callgrind, in some seconds
// and fifty times the call's own. Gives a reason instead where valgrind is missing or fails, and
// where the library chooses another implementation under valgrind (which knows no AVX-512) than
// `algorithm` with `isa`.
CountedInstructions SimulateInstructions(const std::string& name, unsigned seed,
                                         const std::string& algorithm, const std::string& isa);

}  // namespace dlroof::caches
