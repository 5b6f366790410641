// Measures the overhead of the harness: times calls of known length in a raw loop and in the
// function that times every benchmark, alternately in short blocks, so that interference affects
// both. Takes about 20 s and prints JSON.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/runner/runner.h"
#include "counters/base/json_text.h"
#include "counters/base/numbers.h"
#include "counters/base/program.h"
#include "counters/base/version.h"
#include "counters/cpu/clocks.h"
#include "reporters/live/google_benchmark.h"

namespace dlroof::runner {
namespace {

constexpr int kRounds = 100;
constexpr double kBlockSeconds = 0.02;

// A chain of dependent multiplications, which uses no memory and cannot overlap with other work.
void Chain(int links) {
  unsigned long value = 3;
  benchmark::DoNotOptimize(value);
  for (int i = 0; i < links; ++i) {
    value *= value;
    benchmark::DoNotOptimize(value);
  }
}

class Collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const auto& entry : live::EntriesFromRuns(runs)) seconds = entry.seconds;
  }
  double seconds = 0;  // [s] per call, of the last repetition
};

workload::Workload ChainWorkload(int links) {
  const workload::BenchmarkName name = {"Chain", "cpu", "none", "fwd", "f64", std::to_string(links),
                                        {}};
  return {.name = name, .prepare = [links](const workload::RunSettings&) {
            workload::PreparedCall call;
            call.run = [links] { Chain(links); };
            call.verify = [] { return workload::Verification{true, 0, 1, "nothing to check"}; };
            return call;
          }};
}

double RawSeconds(int links, int calls) {
  const double begin = cpu::WallSeconds();
  for (int i = 0; i < calls; ++i) Chain(links);
  return (cpu::WallSeconds() - begin) / calls;
}

nlohmann::json Measured(int links) {
  const int calls = std::max(1, static_cast<int>(kBlockSeconds / RawSeconds(links, 1000)));
  benchmark::ClearRegisteredBenchmarks();
  RegisterWorkloads({ChainWorkload(links)}, workload::RunSettings());
  std::vector<double> raw, harness, ratios;
  for (int round = 0; round < kRounds; ++round) {
    Collector collector;
    const double before = RawSeconds(links, calls / 2);
    benchmark::RunSpecifiedBenchmarks(&collector);
    const double after = RawSeconds(links, calls / 2);
    raw.push_back((before + after) / 2);
    harness.push_back(collector.seconds);
    ratios.push_back(harness.back() / raw.back());
  }
  const auto interval = MedianInterval95(ratios).value();
  return {{"raw_seconds", Median(raw)},
          {"harness_seconds", Median(harness)},
          {"ratio", Median(ratios)},
          {"ratio_ci95", {interval.first, interval.second}},
          {"rounds", kRounds}};
}

int Run() {
  std::string program = "dlroof_harness_cost", time = "--benchmark_min_time=0.02";
  char* args[] = {program.data(), time.data(), nullptr};
  int count = 2;
  benchmark::Initialize(&count, args);
  nlohmann::json result = {{"command", program}, {"commit", kCommit}, {"compiler", kCompiler}};
  for (const int links : {100, 1000, 10000}) result["calls"].push_back(Measured(links));
  std::cout << JsonText(result, 1) << '\n';
  return 0;
}

}  // namespace
}  // namespace dlroof::runner

int main() { return dlroof::RunProgram("dlroof_harness_cost", dlroof::runner::Run); }
