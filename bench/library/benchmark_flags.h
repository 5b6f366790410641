// Google Benchmark's flags while dlroof runs the benchmarks for itself: to list them, and for
// passes after the timing.
#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace dlroof::library {

// Stores what the flags are outside of an OtherBenchmarkFlags. `program` is the program's path.
void RememberBenchmarkFlags(const std::string& program, const std::vector<std::string>& args);

// Sets flags of Google Benchmark during its lifetime, beside which nothing is written to the file
// of --benchmark_out.
class OtherBenchmarkFlags {
 public:
  explicit OtherBenchmarkFlags(std::vector<std::string> flags);
  ~OtherBenchmarkFlags();
  OtherBenchmarkFlags(const OtherBenchmarkFlags&) = delete;
  OtherBenchmarkFlags& operator=(const OtherBenchmarkFlags&) = delete;
};

class NullReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

}  // namespace dlroof::library
