// The names of Google Benchmark: FUNCTION/ARGUMENTS, followed by the settings that the program
// registered, in this order: /min_time:T /min_warmup_time:T /iterations:N /repeats:N /process_time
// /real_time or /manual_time /threads:N.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace dlroof::record {

struct BenchmarkName {
  std::string_view bare;  // without the settings
  std::optional<int> repeats, threads;
  bool manual_time = false, real_time = false;
  bool process_time = false;  // the CPU time is that of all threads
};

// Reads the settings at the end of a name. Text that only looks like a setting, in another place or
// with another value ("/repeats:all/8"), belongs to `bare`, which refers to `name`.
BenchmarkName ReadBenchmarkName(std::string_view name);

// Returns the name without these settings except "/threads:2": the name of a record of dlroof's own
// programs, which register no two benchmarks that differ in other settings.
std::string BareName(const std::string& name);

// Returns the name under which Google Benchmark lists a benchmark of dlroof's own programs.
std::string ListedName(const std::string& bare, bool manual_time);

// Splits "BM_A/8_median" into the benchmark's name and the statistic. Only files of Google
// Benchmark before 1.5 need it; later ones have "run_name". Returns nullopt without such an ending.
std::optional<std::pair<std::string_view, std::string_view>> SplitStatistic(std::string_view name);

}  // namespace dlroof::record
