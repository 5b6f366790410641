// Processes of dlroof_bench under a supervisor: their command lines, results and turns.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/supervise/journal.h"
#include "counters/base/files.h"
#include "counters/base/process.h"

namespace dlroof::supervise {

// Returns the program that the user specified, or the dlroof_bench in the folder of this program.
std::string BenchProgram(const std::optional<std::string>& specified = std::nullopt);

// Throws BadInput for arguments that the supervisor sets itself (outputs, turns).
void CheckArguments(const std::vector<std::string>& arguments);

// Returns the value of the last argument --NAME=VALUE.
std::optional<std::string> FlagValue(const std::vector<std::string>& arguments,
                                     const std::string& name);

// Returns the program's size and modification time, which change with each build. Throws BadInput
// if the program does not exist.
std::string BuildOf(const std::string& program);

// Returns the benchmarks that `program` lists, each once. Throws BadInput with the program's
// message if it fails, and if the list is empty.
std::vector<std::string> ListBenchmarks(const std::string& program,
                                        const std::vector<std::string>& arguments,
                                        const TemporaryFolder& folder);

// Returns the filter that selects only this listed name.
std::string ExactFilter(const std::string& listed);
// Returns the filter that selects only the benchmark of this name, listed with either clock.
std::string FilterOfName(const std::string& name);

// Returns the thread counts whose ceilings these benchmarks need, on a machine with `allowed` CPUs:
// 1, the run's (--dlroof_threads, or all), and those in names.
std::vector<int> ThreadsOf(const std::vector<std::string>& listed,
                           const std::vector<std::string>& arguments, int allowed);

// The files of one process.
struct ProcessPaths {
  std::string run_file, out, err;
};
ProcessPaths PathsIn(const TemporaryFolder& folder, const std::string& process);

// Returns the command line for one benchmark.
std::vector<std::string> CommandFor(const std::string& program,
                                    const std::vector<std::string>& arguments,
                                    const std::string& listed,
                                    const std::optional<std::string>& machine_file,
                                    const ProcessPaths& paths);

// Reads the result of a process. `end` is absent if the process was ended after `timeout_seconds`.
// Copies the run file's machines to `machines` if that is null.
Outcome OutcomeOf(const std::optional<ProcessEnd>& end, double timeout_seconds,
                  const ProcessPaths& paths, nlohmann::json& machines);

// A run of dlroof_bench for some benchmarks.
struct NamedRunRequest {
  std::string command;                      // of dlroof, for messages: "explain"
  std::vector<std::string> names;           // of benchmarks
  std::optional<std::string> bench = {};    // see BenchProgram
  std::optional<std::string> machine = {};  // machine file; else cached or measured ceilings
  std::optional<std::string> output = {};   // run file; else in the temporary folder
  std::vector<std::string> arguments = {};  // further ones for dlroof_bench
};

// Measures the named benchmarks. Returns the run file's path, or nothing after an interrupt. Throws
// BadInput if dlroof_bench fails.
std::optional<std::string> MeasureNamed(const NamedRunRequest& request,
                                        const TemporaryFolder& folder);

// Measures the named benchmarks with --dlroof_explain and announces it in `log`. Throws BadInput
// also for an invalid name.
std::optional<std::string> MeasureExplained(NamedRunRequest request, const TemporaryFolder& folder,
                                            std::ostream& log);

// Number of windows of each program in one block.
inline constexpr int kWindows = 5;

// Returns the flags for the number and length of an interleaved process's repetitions. A window is
// so short that most slow periods of a shared machine hit both programs, and long enough that the
// cost of a turn (refilling caches, waking threads) is negligible. Blocks are short because the
// precision depends on their number.
const std::vector<std::string>& WindowFlags();

// A process of dlroof_bench that measures one window per turn and is stopped between its turns. The
// supervisor's side of the protocol of runner::TurnClient.
class InterleavedProcess {
 public:
  // Starts `command`, which runs one benchmark, with WindowFlags() appended. The process has
  // `timeout_seconds` for each answer. [s]
  InterleavedProcess(std::vector<std::string> command, ProcessPaths paths, double timeout_seconds,
                     const Variables& variables = {});

  // Waits until the process is ready to measure. Returns false if it ended or does not answer.
  bool Ready();
  // Lets the process measure until two repetitions in a row have the same number of iterations.
  // Returns false if it ended or does not answer.
  bool Settle();
  // Lets the process measure one window. Returns its number of iterations, or nothing if the
  // process ended or does not answer.
  std::optional<std::string> Turn();
  // Waits for the end of the process. Returns nothing if it has not ended after `seconds`. [s]
  std::optional<ProcessEnd> End(double seconds);

  const ProcessPaths& paths() const { return paths_; }

 private:
  ProcessPaths paths_;
  double timeout_seconds_;
  std::unique_ptr<WatchedProcess> process_;
};

}  // namespace dlroof::supervise
