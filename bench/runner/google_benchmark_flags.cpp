#include "bench/runner/google_benchmark_flags.h"

#include <array>
#include <charconv>

namespace dlroof::runner {
namespace {

std::array<int, 3> Numbers(std::string_view version) {
  std::array<int, 3> numbers = {};
  const char* at = version.data();
  const char* end = at + version.size();
  for (int& number : numbers) {
    at = std::from_chars(at, end, number).ptr;
    if (at != end) ++at;  // the point
  }
  return numbers;
}

const std::vector<std::string_view> kBoolean = {"true", "false"};

const std::vector<GoogleBenchmarkFlag> kFlags = {
    {"--benchmark_list_tests", "BOOLEAN", "", "print the names of the selected benchmarks and exit",
     kBoolean},
    {"--benchmark_filter", "REGEX", "",
     "run only benchmarks whose names contain a match of this extended regular expression; after "
     "a leading '-', only the others"},
    {"--benchmark_min_time", "SECONDS", "",
     "shortest time of a repetition (default 0.03, on a GPU 0.005), written 0.5 or 0.5s; 10x (a "
     "number of iterations) needs Google Benchmark 1.8"},
    {"--benchmark_min_warmup_time", "SECONDS", "1.7",
     "time for which a benchmark runs before it is measured"},
    {"--benchmark_dry_run", "BOOLEAN", "1.9.1", "run each benchmark once", kBoolean},
    {"--benchmark_repetitions", "NUMBER", "",
     "number of clean repetitions of each benchmark (default 9)"},
    {"--benchmark_enable_random_interleaving", "BOOLEAN", "",
     "run the repetitions of all benchmarks in random order", kBoolean},
    {"--benchmark_report_aggregates_only", "BOOLEAN", "",
     "report mean, median and deviation, not the repetitions", kBoolean},
    {"--benchmark_display_aggregates_only", "BOOLEAN", "",
     "the same on standard output; the file has the repetitions", kBoolean},
    {"--benchmark_format",
     "FORMAT",
     "",
     "format on standard output: console (default), json or csv",
     {"console", "json", "csv"}},
    {"--benchmark_out", "FILE", "", "also write the results to this file"},
    {"--benchmark_out_format",
     "FORMAT",
     "",
     "format of the file: json (default, the run file), console or csv",
     {"json", "console", "csv"}},
    {"--benchmark_color", "CHOICE", "", "whether the output has colors", {"auto", "true", "false"}},
    {"--benchmark_counters_tabular", "BOOLEAN", "", "show counters as columns", kBoolean},
    {"--benchmark_perf_counters", "LIST", "",
     "perf's counters to read, separated by commas, if Google Benchmark was built with libpfm"},
    {"--benchmark_context", "LIST", "", "key=value pairs for the context of the file"},
    {"--benchmark_time_unit",
     "UNIT",
     "1.7",
     "unit of times on standard output",
     {"ns", "us", "ms", "s"}},
    {"--v", "LEVEL", "", "level of Google Benchmark's own messages"}};

}  // namespace

const std::vector<GoogleBenchmarkFlag>& GoogleBenchmarkFlags() { return kFlags; }

bool HasFlag(std::string_view version, const GoogleBenchmarkFlag& flag) {
  return Numbers(flag.since) <= Numbers(version);
}

}  // namespace dlroof::runner
