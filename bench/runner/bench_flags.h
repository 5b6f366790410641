// The flags of dlroof_bench: its own, and the flags of Google Benchmark that it reads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/runner/timer.h"
#include "bench/suites/suite.h"
#include "bench/workload/workload.h"
#include "counters/base/files.h"
#include "counters/base/version.h"

namespace dlroof::runner {

struct Command;

enum class OutputFormat { kTable, kJson, kCsv };

// File descriptors of the pipes to the supervisor of an interleaved comparison (see TurnClient).
struct TurnPipes {
  int from_supervisor, to_supervisor;
};

struct BenchFlags {
  // Machine files or known GPUs ("h100"). Other devices use cached or newly measured ceilings.
  std::vector<std::string> machine_files;
  std::string device = "auto";        // "auto", "cpu", "gpu", "gpu1" (see ParseDevice)
  std::optional<std::string> onednn;  // file of the oneDNN to load; absent: that of the build
  std::vector<std::string> suites;    // names or files of suites (see SelectSuites)
  suites::SuiteChoices choices;
  std::optional<int> threads;  // absent: one thread per CPU that this process may use
  unsigned seed = 1;
  workload::CacheState cache =
      workload::CacheState::kWarm;       // for benchmarks whose name has no cache state
  std::optional<std::string> algorithm;  // option to add to names that may have it, e.g. "best"
  std::string counters{kAutoCounters};
  bool live_check = true;  // check the cached ceilings before they are used
  StoppingRule stop;       // `repetitions` is set by --benchmark_repetitions
  bool keep_noisy = false;
  bool explain = false;
  std::optional<double> explain_seconds;  // [s] ExplainOptions::limit_seconds
  std::optional<int> progress_pipe;       // file descriptor for WriteProgress
  bool energy = false;
  std::optional<std::string> html_file;
  bool verbose = false;                 // list each unsupported benchmark
  std::optional<TurnPipes> turn_pipes;  // set by the supervisor of an interleaved comparison
  // Google Benchmark's flags, parsed again here because Google Benchmark does not export them.
  std::string filter;
  bool lists_only = false;            // --benchmark_list_tests
  bool interleaved = false;           // --benchmark_enable_random_interleaving
  std::optional<double> min_seconds;  // [s] --benchmark_min_time; absent for iterations
  bool gpu_steady = false;            // load the GPU until its clock settles
  int repetitions = 1;
  OutputFormat display = OutputFormat::kTable;
  std::optional<std::string> out_file;
  std::shared_ptr<PartFile> part;  // Google Benchmark's output; renamed to `out_file` at the end
  OutputFormat out_format = OutputFormat::kJson;

  bool WithoutRoofs() const { return machine_files == std::vector<std::string>{"none"}; }
};

// Appends dlroof's defaults of two flags, unless the command line or the environment sets the flag:
// --benchmark_repetitions=9 (enough for a confidence interval of the median) and
// --benchmark_min_time=0.03s (0.005s with --dlroof_device=gpu: queued calls have little noise).
void AddDefaultFlags(std::vector<std::string>& args);

// Google Benchmark before 1.8 accepts neither a unit nor iterations in --benchmark_min_time. For
// such a `version`, changes "1s" in `args` to "1", and throws BadInput for iterations, e.g. "10x".
void AdaptMinTime(std::vector<std::string>& args,
                  std::string_view version = kGoogleBenchmarkVersion);

bool AsksForHelp(const std::vector<std::string>& args);
// Returns the arguments without the program's name and Google Benchmark's flags.
std::vector<std::string> OwnArguments(const std::vector<std::string>& args);
// `args`: the arguments that benchmark::Initialize did not accept. Throws BadInput if one of them
// is a flag of Google Benchmark. The message says that this `version` does not accept the value or
// does not know the flag, and names the first version that does, or the most similar flag.
void RefuseBenchmarkFlags(const std::vector<std::string>& args,
                          std::string_view version = kGoogleBenchmarkVersion);

// Returns the rule that adds repetitions and replaces noisy ones, or nullopt if exactly the
// requested number has to run: one repetition, --dlroof_max_seconds=0, A/B interleaved, CSV output.
std::optional<StoppingRule> RuleFrom(const BenchFlags& flags);
// Returns the largest number of repetitions [1] that `rule` may need. Google Benchmark is told to
// run that many, and the runner skips those that the rule does not need.
int OfferedRepetitions(const StoppingRule& rule, const BenchFlags& flags);

// Returns the value of the last --benchmark_NAME=VALUE ("" for --benchmark_NAME), or else of the
// environment variable BENCHMARK_NAME, which Google Benchmark reads too, or nullopt.
std::optional<std::string> SetBenchmarkFlag(const std::vector<std::string>& args,
                                            const std::string& name);
// Parses the --benchmark_* flags. `args` is the whole command line.
void ReadBenchmarkFlags(const std::vector<std::string>& args, BenchFlags& flags);

// Throws BadInput if a run would measure nothing. `selected` of `all` benchmarks pass the filter.
void RefuseEmptySelection(const BenchFlags& flags, std::size_t selected, std::size_t all);
// Sets --benchmark_out to a temporary file (`flags.part`), which replaces the requested file when
// the run ends. A run that only lists benchmarks writes no file. Throws BadInput if the file cannot
// be written or another process is writing it.
void ProtectOutFile(std::vector<std::string>& args, BenchFlags& flags);

// Parses the --dlroof_* flags. `args` are the arguments that Google Benchmark does not know. Throws
// BadInput for other arguments; for an unknown flag, the message names the most similar flag.
void ReadOwnFlags(const std::vector<std::string>& args, BenchFlags& flags);

// Converts a filter for the names in lists and tables to one for Google Benchmark's names, which
// have suffixes such as "/real_time": a "$" of `filter` also matches before such a suffix.
std::string FilterOfShownNames(const std::string& filter);

// Returns whether --benchmark_filter=`filter` selects the benchmark `name`, with or without suffix.
// As in Google Benchmark, the filter is an extended regular expression that is found anywhere in
// the name; a leading "-" inverts the selection; "" and "all" select all. Throws BadInput if
// invalid.
bool KeptByFilter(const std::string& filter, const std::string& name);

// Returns dlroof_bench's flags as a command that does nothing: its own flags and, for shell
// completion, those of the Google Benchmark that it is built with.
Command DescribeProgram(bool with_google_benchmark);

void PrintHelp();  // for the --dlroof_* flags and those of Google Benchmark

}  // namespace dlroof::runner
