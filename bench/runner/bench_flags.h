// The flags of dlroof_bench: its own and those of Google Benchmark that it needs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/suites/suite_selection.h"
#include "bench/timing/timer.h"
#include "bench/workload/workload.h"

namespace dlroof::runner {

enum class OutputFormat { kTable, kJson, kCsv };

// The file descriptors of a TurnClient's two pipes.
struct TurnPipes {
  int from_supervisor, to_supervisor;
};

struct BenchFlags {
  // Machine files or names of GPUs. Devices without a file use cached or newly measured ceilings.
  std::vector<std::string> machine_files;
  std::string device = "auto";      // see ParseDevice
  std::vector<std::string> suites;  // see SelectSuites
  suites::SuiteChoices choices;
  std::optional<int> threads;  // if fewer than all CPUs that this process may use
  unsigned seed = 1;
  workload::CacheState cache = workload::CacheState::kWarm;  // of names without a cache state
  std::string counters{kAutoCounters};
  bool live_check = true;     // check the stored ceilings before they are used
  timing::StoppingRule stop;  // its number of repetitions comes from --benchmark_repetitions
  bool keep_noisy = false;
  bool explain = false, instructions = false;
  bool energy = false;
  std::optional<double> meter_seconds;  // [s] length of the window for the node's meter
  std::optional<std::string> html_file;
  bool verbose = false;                 // name each unsupported benchmark
  std::optional<TurnPipes> turn_pipes;  // set by the supervisor of an interleaved comparison
  // Google Benchmark's flags, parsed again because it does not export them.
  std::string filter;
  bool lists_only = false;            // --benchmark_list_tests
  std::optional<double> min_seconds;  // [s] of a repetition, unless it is a number of iterations
  int repetitions = 1;
  OutputFormat display = OutputFormat::kTable;
  std::optional<std::string> out_file;
  OutputFormat out_format = OutputFormat::kJson;

  // Returns whether results are not placed on roofs (--dlroof_machine=none).
  bool WithoutRoofs() const { return machine_files == std::vector<std::string>{"none"}; }
};

// Appends to `args` the defaults that replace Google Benchmark's, unless the command line or the
// environment sets these flags: 9 repetitions of 0.03 s, which give every record a confidence
// interval.
void AddDefaultFlags(std::vector<std::string>& args);

// Returns the rule that decides how many repetitions run. Without one, exactly the requested number
// runs (a single repetition, --dlroof_max_seconds=0, an interleaved run, CSV output).
std::optional<timing::StoppingRule> RuleFrom(const BenchFlags& flags);
// Returns the number of repetitions that Google Benchmark has to offer for the rule to choose from.
int OfferedRepetitions(const timing::StoppingRule& rule, const BenchFlags& flags);

// Parses the --benchmark_* flags of BenchFlags. `args` is the whole command line, before Google
// Benchmark removes its flags.
void ReadBenchmarkFlags(const std::vector<std::string>& args, BenchFlags& flags);

// Parses the --dlroof_* flags; `args` is what Google Benchmark left. Throws BadInput for anything
// else; for an unknown flag it names the most similar one.
void ReadOwnFlags(const std::vector<std::string>& args, BenchFlags& flags);

// Returns whether --benchmark_filter selects the name, with Google Benchmark's rules: the filter is
// an extended regular expression found anywhere in the name; a leading "-" negates it; an empty
// filter and "all" select every name. An invalid expression selects every name, because Google
// Benchmark refuses it later.
bool KeptByFilter(const std::string& filter, const std::string& name);

// Text for --help.
std::string OwnHelp();

}  // namespace dlroof::runner
