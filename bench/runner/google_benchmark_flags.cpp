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
    {"--benchmark_list_tests", "BOOLEAN", "", kBoolean},
    {"--benchmark_filter", "REGEX", ""},
    {"--benchmark_min_time", "SECONDS", ""},
    {"--benchmark_min_warmup_time", "SECONDS", "1.7"},
    {"--benchmark_dry_run", "BOOLEAN", "1.9.1", kBoolean},
    {"--benchmark_repetitions", "NUMBER", ""},
    {"--benchmark_enable_random_interleaving", "BOOLEAN", "", kBoolean},
    {"--benchmark_report_aggregates_only", "BOOLEAN", "", kBoolean},
    {"--benchmark_display_aggregates_only", "BOOLEAN", "", kBoolean},
    {"--benchmark_format", "FORMAT", "", {"console", "json", "csv"}},
    {"--benchmark_out", "FILE", ""},
    {"--benchmark_out_format", "FORMAT", "", {"json", "console", "csv"}},
    {"--benchmark_color", "CHOICE", "", {"auto", "true", "false"}},
    {"--benchmark_counters_tabular", "BOOLEAN", "", kBoolean},
    {"--benchmark_perf_counters", "LIST", ""},  // if it was built with libpfm
    {"--benchmark_context", "LIST", ""},
    {"--benchmark_time_unit", "UNIT", "1.7", {"ns", "us", "ms", "s"}},
    {"--v", "LEVEL", ""}};

}  // namespace

const std::vector<GoogleBenchmarkFlag>& GoogleBenchmarkFlags() { return kFlags; }

bool HasFlag(std::string_view version, const GoogleBenchmarkFlag& flag) {
  return Numbers(flag.since) <= Numbers(version);
}

}  // namespace dlroof::runner
