// The flags of Google Benchmark, which does not export a list of them.
#pragma once

#include <string_view>
#include <vector>

namespace dlroof::runner {

struct GoogleBenchmarkFlag {
  std::string_view name;   // "--benchmark_filter"
  std::string_view type;   // of its value
  std::string_view since;  // the version of Google Benchmark; empty: in every one that dlroof uses
  std::vector<std::string_view> choices = {};
};

// Returns the flags of every version, in the order of Google Benchmark's own help.
const std::vector<GoogleBenchmarkFlag>& GoogleBenchmarkFlags();

// Returns whether a version of Google Benchmark, "1.8.3", has the flag.
bool HasFlag(std::string_view version, const GoogleBenchmarkFlag& flag);

}  // namespace dlroof::runner
