// The flags of dlroof_bench that are not Google Benchmark's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/suites/suite_selection.h"
#include "bench/timing/timer.h"
#include "bench/workload/workload.h"

namespace dlroof::runner {

enum class OutputFormat { kTable, kJson, kCsv };

struct BenchFlags {
  std::vector<std::string> machine_files;  // of other devices: cached by fingerprint, or measured
  std::string device = "auto";             // as ParseDevice takes it
  std::vector<std::string> suites;         // as SelectSuites takes them
  suites::SuiteChoices choices;
  int threads = 0;  // 0: all CPUs that this process may use
  unsigned seed = 1;
  workload::CacheState cache = workload::CacheState::kWarm;  // of names that do not say
  std::string counters{kAutoCounters};
  bool live_check = true;     // look at the stored ceilings before they are used
  timing::StoppingRule stop;  // but for its number of repetitions
  bool keep_noisy = false;
  bool explain = false, instructions = false;
  bool energy = false;
  std::optional<double> meter_seconds;  // [s] of a window for a node's meter; absent: none
  std::string html_file;
  bool verbose = false;    // name each unsupported benchmark
  std::vector<int> turns;  // descriptors of Interleaving: from, to; empty: none
  // Flags that Google Benchmark was given. It does not share its own.
  std::string filter;
  bool lists_only = false;            // --benchmark_list_tests
  std::optional<double> min_seconds;  // [s] of a repetition; absent: a number of iterations
  int repetitions = 1;
  OutputFormat display = OutputFormat::kTable;
  std::string out_file;
  OutputFormat out_format = OutputFormat::kJson;

  // Returns whether only benchmarks are measured: --dlroof_machine=none.
  bool WithoutRoofs() const { return machine_files == std::vector<std::string>{"none"}; }
};

// Google Benchmark's defaults suit a table read by eye; ours give every record a confidence
// interval: 9 repetitions of 0.03 s. Appended to `args` where neither the command line nor the
// environment says otherwise.
void AddDefaultFlags(std::vector<std::string>& args);

// Returns when to stop repeating; absent: the repetitions that were asked for run, and no others.
std::optional<timing::StoppingRule> RuleFrom(const BenchFlags& flags);
// Returns the number of repetitions of which Google Benchmark has to offer the rule a choice.
int OfferedRepetitions(const timing::StoppingRule& rule, const BenchFlags& flags);

// The --benchmark_ flags that decide which reporters run; `args` is the whole command line, read
// before Google Benchmark takes its flags out.
void ReadBenchmarkFlags(const std::vector<std::string>& args, BenchFlags& flags);

// Parses the flags that Google Benchmark left: only --dlroof_*. Throws BadInput for anything
// else.
void ReadOwnFlags(const std::vector<std::string>& args, BenchFlags& flags);

// Returns whether --benchmark_filter keeps the name, as Google Benchmark reads it: an extended
// regular expression found anywhere in the name, "-" in front for all others; empty, "all": every
// name. An invalid expression keeps every name: Google Benchmark will refuse it.
bool KeptByFilter(const std::string& filter, const std::string& name);

// Text for --help.
std::string OwnHelp();

}  // namespace dlroof::runner
