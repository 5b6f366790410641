// Which benchmark a benchmark::State belongs to.
#pragma once

#include <benchmark/benchmark.h>

#include <optional>
#include <string>

namespace dlroof::library {

// Returns the benchmark's name if this version of Google Benchmark tells it to the benchmark (1.8
// and newer).
std::optional<std::string> NameIn(const benchmark::State& state);

// Returns a text that differs between benchmarks with different callables (`site`), arguments or
// numbers of threads.
std::string PlaceOf(const benchmark::State& state, const void* site);

}  // namespace dlroof::library
