// The supervisor's view of dlroof_bench: command lines, results and interleaved processes.
#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/supervise/journal.h"
#include "ceilings/machine/rate.h"
#include "counters/base/files.h"
#include "counters/base/process.h"

namespace dlroof::supervise {

// Returns the last `count` lines of a text that are not blank, joined by `separator`.
std::string LastLines(const std::string& text, std::size_t count, const char* separator);

// Returns `specified`, the path that the user chose, or the dlroof_bench beside this executable.
std::string BenchProgram(const std::optional<std::string>& specified = std::nullopt);

// Throws BadInput for flags that the supervisor sets itself, such as --benchmark_out.
void CheckArguments(const std::vector<std::string>& arguments);

// Returns VALUE of the last argument --NAME=VALUE, if there is one.
std::optional<std::string> FlagValue(const std::vector<std::string>& arguments,
                                     const std::string& name);

// Returns the size and modification time of the program's file, which change with each build.
// Throws BadInput if the file does not exist.
std::string BuildOf(const std::string& program);

struct ListedBenchmarks {
  std::vector<std::string> names;  // without duplicates
  bool plain = false;              // a Google Benchmark program without dlroof
};

// Runs `program` and returns the benchmarks that it lists. Throws BadInput if the list is empty or
// the program fails; the message has the program's message.
ListedBenchmarks ListBenchmarks(const std::string& program,
                                const std::vector<std::string>& arguments,
                                const TemporaryFolder& folder);

// Returns the --benchmark_filter for the one benchmark that the program lists as `listed`.
std::string ExactFilter(const std::string& listed);

// Returns the thread counts for which the benchmarks need ceilings, on a machine with `allowed`
// CPUs: 1, the run's (--dlroof_threads, or all CPUs), and those in benchmark names.
std::vector<int> ThreadsOf(const std::vector<std::string>& listed,
                           const std::vector<std::string>& arguments, int allowed);

// The files that one process writes.
struct ProcessPaths {
  std::string run_file, out, err;
};
ProcessPaths PathsIn(const TemporaryFolder& folder, const std::string& process);

// Returns the command line that measures the benchmark `listed`. A `plain` program gets Google
// Benchmark's flags only.
std::vector<std::string> CommandFor(const std::string& program,
                                    const std::vector<std::string>& arguments,
                                    const std::string& listed,
                                    const std::optional<std::string>& machine_file,
                                    const ProcessPaths& paths, bool plain = false);

// Reads the result of a process. `end` is absent if the process was killed after `timeout_seconds`.
// If `machines` is null, copies the run file's machines to it.
Outcome OutcomeOf(const std::optional<ProcessEnd>& end, double timeout_seconds,
                  const ProcessPaths& paths, nlohmann::json& machines);

// A run of dlroof_bench that measures the named benchmarks.
struct NamedRunRequest {
  std::string command;                      // the dlroof command, for messages: "explain"
  std::vector<std::string> names;           // names of benchmarks
  std::optional<std::string> bench = {};    // path of dlroof_bench; absent: BenchProgram finds it
  std::optional<std::string> machine = {};  // machine file; absent: this machine's ceilings
  std::optional<std::string> output = {};   // run file; absent: in the temporary folder
  std::vector<std::string> arguments = {};  // further arguments for dlroof_bench
  // Called with the progress of the measurement. May be empty.
  std::function<void(const machine::MeasureProgress&)> progress = {};
};

// Measures the named benchmarks. Returns the run file's path, or nullopt after an interrupt. Throws
// BadInput if dlroof_bench fails.
std::optional<std::string> MeasureNamed(const NamedRunRequest& request,
                                        const TemporaryFolder& folder);

// As MeasureNamed, with --dlroof_explain. Announces the run in `log` and shows its progress there
// (machine::ProgressPrinter). Throws BadInput also for an invalid benchmark name.
std::optional<std::string> MeasureExplained(NamedRunRequest request, const TemporaryFolder& folder,
                                            std::ostream& log);

// Number of windows (timed repetitions) of each program in one block.
inline constexpr int kWindows = 5;

// Returns the flags that set the number and length of an interleaved process's windows. A window is
// so short that most slow periods of a shared machine affect both programs, and so long that
// switching processes (refilling caches, waking threads) costs little. Blocks are short because the
// precision depends on their number. Plain programs get shorter windows: their processes run one
// after the other, not window by window, and a block of both must be short.
std::vector<std::string> WindowFlags(bool plain = false);

// Environment variables that make oneDNN print a line for each primitive that a process creates,
// but none for the timed calls.
extern const std::map<std::string, std::string> kLogOfCreations;

// Returns oneDNN's choices for the benchmark's primitive, from the log of its process, in the form
// of run files: {"implementation": "brgconv:avx2", "layouts": {"wei": "f32 AcdB8a2b"}}. Without
// reorders, the benchmark's primitive is the last one of the kind that was created first: a
// backward LSTM first creates its forward primitive, and --dlroof_explain later creates primitives
// of other kinds. Returns nullopt without a primitive.
std::optional<nlohmann::json> ChoiceIn(std::string_view log);

// Returns the changes as texts: "implementation: jit:avx2 -> brgconv:avx2", "layout of src: f32
// aBcd8b -> f32 acdb".
std::vector<std::string> ChangesBetween(const nlohmann::json& base,
                                        const nlohmann::json& contender);

// A process of dlroof_bench that is stopped (SIGSTOP) except while it measures a window. This class
// is the supervisor's side of the protocol of runner::TurnClient.
class InterleavedProcess {
 public:
  // Starts `command`, which runs one benchmark, with WindowFlags() appended. Each answer of the
  // process may take `timeout_seconds` [s].
  InterleavedProcess(std::vector<std::string> command, ProcessPaths paths, double timeout_seconds,
                     const Variables& variables = {});

  // Returns whether the process has answered each request. If not, the functions below do nothing.
  bool answers() const { return answers_; }
  // Waits until the process is ready to measure.
  void Ready();
  // Lets the process measure until two consecutive repetitions have the same number of iterations.
  void Settle();
  // Lets the process measure one window.
  void Turn();
  // Waits for the end of the process. Returns nullopt if it does not end in time.
  std::optional<ProcessEnd> End();

  const ProcessPaths& paths() const { return paths_; }

 private:
  ProcessPaths paths_;
  double timeout_seconds_;
  bool answers_ = true;
  std::string iterations_;  // of the last window, as reported by the process
  std::unique_ptr<WatchedProcess> process_;
};

}  // namespace dlroof::supervise
