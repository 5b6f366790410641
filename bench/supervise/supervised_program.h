// dlroof_bench as a supervisor calls it: one benchmark, one process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/supervise/journal.h"
#include "counters/base/process.h"
#include "counters/base/temporary_folder.h"

namespace dlroof {

// Throws BadInput for what a supervisor decides itself (where results go, how often).
void CheckArguments(const std::vector<std::string>& arguments);

// The value of --NAME=VALUE, its last mention.
std::optional<std::string> FlagValue(const std::vector<std::string>& arguments,
                                     const std::string& name);

// What tells that the program was built anew: its size and when it was written. Throws BadInput:
// there is none.
std::string BuildOf(const std::string& program);

// The names that `program` lists, each once. Throws BadInput with its own words when it refuses,
// and when there is none.
std::vector<std::string> ListBenchmarks(const std::string& program,
                                        const std::vector<std::string>& arguments,
                                        const TemporaryFolder& folder);

// The filter that keeps this one listed name only.
std::string ExactFilter(const std::string& listed);

// Thread counts at which dlroof_bench wants ceilings for these benchmarks, on a machine where it
// may use `allowed` CPUs: one, the run's (--dlroof_threads, else all), and those that names ask
// for.
std::vector<int> ThreadsOf(const std::vector<std::string>& listed,
                           const std::vector<std::string>& arguments, int allowed);

// Where one process reads and writes.
struct ProcessPaths {
  std::string run_file, out, err;
};
ProcessPaths PathsIn(const TemporaryFolder& folder, const std::string& who);

// The whole command for one benchmark. `machine_file` may be empty.
std::vector<std::string> CommandFor(const std::string& program,
                                    const std::vector<std::string>& arguments,
                                    const std::string& listed, const std::string& machine_file,
                                    const ProcessPaths& paths);

// What a process that has ended left; absent `end`: it had to be ended after `timeout_seconds`.
// `machines` gets the run file's when it is null.
Outcome OutcomeOf(const std::optional<ProcessEnd>& end, double timeout_seconds,
                  const ProcessPaths& paths, nlohmann::json& machines);

}  // namespace dlroof
