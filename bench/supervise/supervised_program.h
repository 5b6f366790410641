// Commands of dlroof_bench under a supervisor: one process per benchmark.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/supervise/journal.h"
#include "counters/base/folders.h"
#include "counters/base/process.h"

namespace dlroof {

// The dlroof_bench that was built together with this program.
std::string BenchBesideUs();

// Throws BadInput for arguments that the supervisor sets itself (outputs, repetitions).
void CheckArguments(const std::vector<std::string>& arguments);

// Returns the value of the last --NAME=VALUE.
std::optional<std::string> FlagValue(const std::vector<std::string>& arguments,
                                     const std::string& name);

// Returns the program's size and time of writing, which change with each build. Throws BadInput if
// there is no program.
std::string BuildOf(const std::string& program);

// Returns the names that `program` lists, each once. Throws BadInput with the program's message if
// it refuses, and if the list is empty.
std::vector<std::string> ListBenchmarks(const std::string& program,
                                        const std::vector<std::string>& arguments,
                                        const TemporaryFolder& folder);

// Returns the filter that keeps this listed name alone.
std::string ExactFilter(const std::string& listed);
// Returns the filter that keeps the benchmark of this name alone, whatever clock it is listed with.
std::string FilterOfName(const std::string& name);

// Returns the thread counts of the ceilings for these benchmarks, on a machine with `allowed` CPUs:
// 1, the run's (--dlroof_threads, else all), and those in names.
std::vector<int> ThreadsOf(const std::vector<std::string>& listed,
                           const std::vector<std::string>& arguments, int allowed);

// The files of one process.
struct ProcessPaths {
  std::string run_file, out, err;
};
ProcessPaths PathsIn(const TemporaryFolder& folder, const std::string& who);

// Returns the whole command for one benchmark. `machine_file` may be empty.
std::vector<std::string> CommandFor(const std::string& program,
                                    const std::vector<std::string>& arguments,
                                    const std::string& listed, const std::string& machine_file,
                                    const ProcessPaths& paths);

// Reads the result of a process. Absent `end`: the supervisor ended it after `timeout_seconds`.
// Copies the run file's machines to `machines` if that is null.
Outcome OutcomeOf(const std::optional<ProcessEnd>& end, double timeout_seconds,
                  const ProcessPaths& paths, nlohmann::json& machines);

}  // namespace dlroof
