// Predicts the benchmarks that --benchmark_filter keeps.
#pragma once

#include <string>

namespace dlroof {

// As Google Benchmark reads its filter: an extended regular expression found anywhere in the name,
// "-" in front for all others; empty, "all": every name. An invalid expression keeps every name:
// Google Benchmark will refuse it.
bool KeptByFilter(const std::string& filter, const std::string& name);

}  // namespace dlroof
