// The flags of dlroof_bench: its own, and those of Google Benchmark that it reads.
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
}

namespace dlroof::runner {

enum class OutputFormat { kTable, kJson, kCsv };

// The file descriptors of the pipes between a TurnClient and its supervisor.
struct TurnPipes {
  int from_supervisor, to_supervisor;
};

struct BenchFlags {
  // Machine files or known GPUs. Other devices use cached or newly measured ceilings.
  std::vector<std::string> machine_files;
  std::string device = "auto";  // "auto", "cpu", "gpu", "gpu1" (see ParseDevice)
  // File of the oneDNN to load; absent: the oneDNN that this program was built with.
  std::optional<std::string> onednn;
  std::vector<std::string> suites;  // names or files of suites (see SelectSuites)
  suites::SuiteChoices choices;
  std::optional<int> threads;  // absent: one thread per CPU that this process may use
  unsigned seed = 1;
  workload::CacheState cache =
      workload::CacheState::kWarm;  // for benchmarks whose name has no cache state
  // Algorithm ("best") for benchmarks that have a choice of algorithms.
  std::optional<std::string> algorithm;
  std::string counters{kAutoCounters};
  bool live_check = true;     // check the stored ceilings before they are used
  runner::StoppingRule stop;  // `repetitions` is set by --benchmark_repetitions
  bool keep_noisy = false;
  bool explain = false;
  std::optional<double> explain_seconds;  // [s] for each benchmark; see ExplainOptions
  std::optional<int> progress_pipe;       // descriptor for WriteProgress
  bool energy = false;
  std::optional<std::string> html_file;
  bool verbose = false;                 // list each unsupported benchmark
  std::optional<TurnPipes> turn_pipes;  // set by the supervisor of an interleaved comparison
  // Google Benchmark's flags, parsed again here because Google Benchmark does not export them.
  std::string filter;
  bool lists_only = false;            // --benchmark_list_tests
  bool interleaved = false;           // --benchmark_enable_random_interleaving
  std::optional<double> min_seconds;  // [s] per repetition; absent if given as iterations
  bool gpu_steady = false;            // load the GPU until its clock settles
  int repetitions = 1;
  OutputFormat display = OutputFormat::kTable;
  std::optional<std::string> out_file;
  std::shared_ptr<PartFile> part;  // Google Benchmark writes it; it becomes `out_file` at the end
  OutputFormat out_format = OutputFormat::kJson;

  // Returns whether results are reported without roofs (--dlroof_machine=none).
  bool WithoutRoofs() const { return machine_files == std::vector<std::string>{"none"}; }
};

// Appends dlroof's defaults for Google Benchmark's flags that neither the command line nor the
// environment sets: 9 repetitions, enough for a confidence interval of every time, of 0.03 s; with
// --dlroof_device=gpu of 0.005 s, because times of queued calls have little noise.
void AddDefaultFlags(std::vector<std::string>& args);

// Removes the unit from --benchmark_min_time=1s for a `version` of Google Benchmark before 1.8,
// which accepts no units. Throws BadInput for iterations ("10x"), which these lack.
void AdaptMinTime(std::vector<std::string>& args,
                  std::string_view version = kGoogleBenchmarkVersion);

bool AsksForHelp(const std::vector<std::string>& args);
// Returns the arguments without the program's name and Google Benchmark's flags.
std::vector<std::string> OwnArguments(const std::vector<std::string>& args);
// Throws BadInput if a --benchmark_ flag is left in `args`, the arguments that Google Benchmark did
// not accept. The message names its version, and the one that has the flag, or a similar flag.
void RefuseBenchmarkFlags(const std::vector<std::string>& args,
                          std::string_view version = kGoogleBenchmarkVersion);

// Returns the rule that adds and replaces repetitions. Returns nullopt if exactly the requested
// number has to run: one repetition, --dlroof_max_seconds=0, an interleaved run, or CSV output.
std::optional<runner::StoppingRule> RuleFrom(const BenchFlags& flags);
// Returns the number of repetitions to request from Google Benchmark: the rule's maximum [1].
int OfferedRepetitions(const runner::StoppingRule& rule, const BenchFlags& flags);

// Returns the value of the last --benchmark_NAME=VALUE or else of the environment variable
// BENCHMARK_NAME, which Google Benchmark reads too; "" for --benchmark_NAME.
std::optional<std::string> SetBenchmarkFlag(const std::vector<std::string>& args,
                                            const std::string& name);
// Parses --benchmark_* flags. `args`: the command line before Google Benchmark removes its flags.
void ReadBenchmarkFlags(const std::vector<std::string>& args, BenchFlags& flags);

// Throws BadInput if a run would measure nothing. `selected` of `all` benchmarks pass the filter.
void RefuseEmptySelection(const BenchFlags& flags, std::size_t selected, std::size_t all);
// Changes --benchmark_out to a temporary file beside the requested one, which it replaces when the
// run ends. A run that only lists benchmarks writes no file. Throws BadInput if the file cannot be
// written or another process is writing it.
void ProtectOutFile(std::vector<std::string>& args, BenchFlags& flags);

// Parses the --dlroof_* flags. `args` are the arguments that Google Benchmark does not know. Throws
// BadInput for other arguments; for an unknown flag, the message names the most similar flag.
void ReadOwnFlags(const std::vector<std::string>& args, BenchFlags& flags);

// Converts a filter for the names in lists and tables to one for Google Benchmark's names, which
// have suffixes such as "/real_time": a "$" of `filter` also matches before such a suffix.
std::string FilterOfShownNames(const std::string& filter);

// Returns whether --benchmark_filter=`filter` selects the benchmark `name`, with or without suffix,
// by Google Benchmark's rules: the filter is an extended regular expression found
// anywhere in the name; a leading "-" inverts the selection; an empty filter and "all" select every
// name. Throws BadInput for an invalid expression.
bool KeptByFilter(const std::string& filter, const std::string& name);

// Describes dlroof_bench's flags: its own and, for completion, those of its Google Benchmark.
runner::Command DescribeProgram(bool with_google_benchmark);

// Returns the help text of the --dlroof_* flags.
std::string OwnHelp();

}  // namespace dlroof::runner
