// dlroof for your own benchmarks: adds FLOP/s, bytes, roofs, bounds and advice to the times of a
// Google Benchmark program (1.7.1 to 1.9.x).
//
//   #include <dlroof/benchmark.h>
//
//   static void BM_Axpy(benchmark::State& state) {
//     const auto n = state.range(0);
//     std::vector<float> x(n, 1), y(n, 2);
//     dlroof::Measure(state, {.flops = {{"fp32", 2.0 * n}}, .bytes = {{"dram", 12.0 * n}}},
//                     [&] { Axpy(x, y); });
//   }
//   BENCHMARK(BM_Axpy)->Range(1 << 12, 1 << 26)->UseRealTime();
//   DLROOF_BENCHMARK_MAIN();
//
// The program has the flags of dlroof_bench (--help), except those that select operators. Link with
// dlroof::benchmark, or with dlroof::benchmark_main, which contains a main function.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

struct CUstream_st;  // cudaStream_t is a pointer to it

namespace dlroof {

// Memory that a call reads or writes.
struct MemoryBlock {
  const void* begin = nullptr;
  std::size_t bytes = 0;
  bool weights = false;  // parameters that calls only read (--dlroof_cache=cold-weights)
};

// What you know about ONE call of the function (not of one iteration inside it). All members are
// optional. A number that you omit is unknown unless --dlroof_counters counts it; 0 means none.
struct Call {
  // [flop] by pipe "<type>.<unit>", with types fp64 fp32 tf32 fp16 bf16 fp8 int8 and units vector
  // and matrix (tensor cores, AMX). "fp32" means "fp32.vector". A fused multiply-add counts 2.
  std::map<std::string, double> flops = {};
  // [byte] read plus written, by memory level: l1 l2 l3 dram host.
  std::map<std::string, double> bytes = {};
  // Memory that `--dlroof_cache=cold` evicts from the caches before each call.
  std::vector<MemoryBlock> memory = {};
  // Threads that the call itself starts or uses (OpenMP); they determine the roofs. Default:
  // --dlroof_threads, or 1. The threads of ->Threads(n) are known without it.
  std::optional<int> threads = {};
  // Called once after the first call, before timing. Returns whether the result is correct; if not,
  // the benchmark fails.
  std::function<bool()> check = {};
};

namespace detail {

struct Callable {
  std::function<void()> once;               // makes one call on the CPU
  std::function<void(std::int64_t)> times;  // makes this number of calls
  std::function<void(CUstream_st*)> start;  // starts a call on a CUDA stream
};

void Measure(benchmark::State& state, const Call& call, const Callable& callable);

template <class F, class... Arguments>
void KeepResult(F& function, Arguments... arguments) {
  if constexpr (std::is_void_v<std::invoke_result_t<F&, Arguments...>>)
    function(arguments...);
  else
    benchmark::DoNotOptimize(function(arguments...));
}

}  // namespace detail

// Times `function` in Google Benchmark's loop, instead of `for (auto _ : state)`, and attaches
// work, roofs and noise to the result. Use it once per benchmark, at the end.
//
// `function` makes one complete call. It may be called any number of times, also before and after
// timing (counters, cold caches, energy, CUDA graphs). It is one of:
// - [&] { ... }: a call on the CPU
// - [&](cudaStream_t stream) { ... }: starts a call on the stream without waiting for it. The
//   benchmark then needs ->UseManualTime(), and the time is that on the GPU.
// It must not use `state`: pausing the timer inside a call is an error.
template <class F>
void Measure(benchmark::State& state, const Call& call, F&& function) {
  constexpr bool kOnGpu = std::is_invocable_v<F&, CUstream_st*>;
  static_assert(kOnGpu || std::is_invocable_v<F&>,
                "expected a function without arguments, or with a cudaStream_t");
  detail::Callable callable;
  if constexpr (kOnGpu) {
    callable.start = [&function](CUstream_st* stream) { detail::KeepResult(function, stream); };
  } else {
    callable.once = [&function] { detail::KeepResult(function); };
    callable.times = [&function](std::int64_t calls) {
      for (; calls > 0; --calls) {
        detail::KeepResult(function);
        benchmark::ClobberMemory();
      }
    };
  }
  detail::Measure(state, call, callable);
}

template <class F>
void Measure(benchmark::State& state, F&& function) {
  Measure(state, Call{}, std::forward<F>(function));
}

// ---- programs ----

// A main function: initializes Google Benchmark and dlroof, runs the benchmarks and reports.
// Returns the exit code: 1 if a benchmark failed, 2 for bad input.
int Main(int argc, char** argv);

#define DLROOF_BENCHMARK_MAIN() \
  int main(int argc, char** argv) { return dlroof::Main(argc, argv); }

// For a program with its own main function and reporters:
//
//   dlroof::Initialize(&argc, argv);              // takes the --dlroof_ flags
//   benchmark::Initialize(&argc, argv);
//   dlroof::Reporter reporter(&mine);             // `mine` gets everything first
//   benchmark::RunSpecifiedBenchmarks(&reporter, dlroof::FileReporter());
//   return dlroof::Report();

// Removes the --dlroof_ flags from argv. Call before benchmark::Initialize. For bad input prints
// one sentence and exits with code 2.
void Initialize(int* argc, char** argv);

// Collects results for Report, and passes everything to `inner` (may be null).
class Reporter : public benchmark::BenchmarkReporter {
 public:
  explicit Reporter(benchmark::BenchmarkReporter* inner = nullptr) : inner_(inner) {}
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  benchmark::BenchmarkReporter* inner_;
};

// Returns the reporter that writes the run file for --benchmark_out (Google Benchmark's JSON with
// dlroof's records), or null if the flag is absent.
benchmark::BenchmarkReporter* FileReporter();

// Prints the table of roofs and writes the page for --dlroof_html. Returns the exit code, as Main.
int Report();

}  // namespace dlroof
