// Commands of dlroof_bench under a supervisor: one process per benchmark, or one for some.
//
// A process of dlroof_bench that measures a window in each of its turns and pauses between them.
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

// Returns the program that the user gave; the dlroof_bench that was built together with this
// program where that is empty.
std::string BenchProgram(const std::string& specified = "");

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

// A run of dlroof_bench for some benchmarks.
struct NamedRunRequest {
  std::string command;             // of dlroof, for messages: "explain"
  std::vector<std::string> names;  // of benchmarks
  std::string bench;               // the program; empty: dlroof_bench beside this one
  std::string machine;             // machine file of the roofs; empty: cached, or measured now
  std::string output;              // run file; empty: in `folder`
  std::vector<std::string> arguments = {};  // more of them for dlroof_bench
};

// Measures the benchmarks of these names; returns the run file's path, empty after an interrupt.
// Throws BadInput where the program fails.
std::string MeasureNamed(const NamedRunRequest& request, const TemporaryFolder& folder);

// The same with --dlroof_explain, after a sentence in `log`. Throws BadInput also where a name is
// none.
std::string MeasureExplained(NamedRunRequest request, const TemporaryFolder& folder,
                             std::ostream& log);

// Windows of one side in one block.
inline constexpr int kWindows = 5;

// Returns the flags of a process that takes turns: its repetitions, and their length. Windows are
// so short that most slow spells of a shared machine meet all sides, and long enough that the cost
// of a turn (filling the caches, waking threads) is no part of them. Blocks are short, because
// their number counts.
const std::vector<std::string>& WindowFlags();

class InterleavedProcess {
 public:
  // Starts `command`, of one benchmark, with WindowFlags() beside it. `timeout_seconds` [s]: for
  // each answer.
  InterleavedProcess(std::vector<std::string> command, ProcessPaths paths, double timeout_seconds,
                     const Variables& variables = {});

  // Waits until it is ready to measure. False: it ended, or does not answer.
  bool Ready();
  // Lets it measure until its repetitions are alike. False: it ended, or does not answer.
  bool Settle();
  // Lets it measure one window; returns its iterations. Absent: it ended, or does not answer.
  std::optional<std::string> Turn();
  // Absent: it has not ended after so long.
  std::optional<ProcessEnd> End(double seconds);

  const ProcessPaths& paths() const { return paths_; }

 private:
  ProcessPaths paths_;
  double timeout_seconds_;
  std::unique_ptr<WatchedProcess> process_;
};

}  // namespace dlroof::supervise
