// Which benchmark a benchmark::State belongs to.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "counters/base/error.h"

namespace dlroof::library {

// Returns a text that differs between benchmarks with different callables (`site`), arguments or
// numbers of threads. With Google Benchmark 1.8 and newer, benchmarks with different functions or
// names of their own (->Name, BENCHMARK_CAPTURE) differ, too.
std::string PlaceOf(const benchmark::State& state, const void* site);

// The benchmarks of a program as Google Benchmark lists them, and which of them runs: a State does
// not tell its benchmark's name.
class ListedBenchmarks {
 public:
  void List(std::vector<std::string> names) { names_ = std::move(names); }
  const std::vector<std::string>& names() const { return names_; }

  // While the benchmarks run in the order of the list:
  // The first benchmark runs next.
  void BeginAgain() { ended_.clear(); }
  // Marks the benchmark of `run` as ended. Each of the runs that are reported of it may be passed.
  void MarkEnded(const benchmark::BenchmarkReporter::Run& run);
  // Returns the name of the benchmark that runs, or nullopt after the last.
  std::optional<std::string> Running() const;

  // While their repetitions run in random order, each is recognized by its PlaceOf. Learn is called
  // before, while they run in the order of the list.
  void Learn(const std::string& place);
  // Returns the name of the benchmark at this place, or nullopt if none is known or several are.
  std::optional<std::string> At(const std::string& place) const;
  // Returns which benchmarks cannot be told apart, or nullopt.
  std::optional<Reason> Ambiguous(const std::string& place) const;

 private:
  std::vector<std::string> names_;
  std::set<std::pair<std::int64_t, std::int64_t>> ended_;  // families and their instances
  std::map<std::string, std::set<std::string>> places_;    // names by place
};

}  // namespace dlroof::library
