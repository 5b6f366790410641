// dlroof for benchmarks of your own: FLOP/s, bytes, roofs, bounds and advice beside the times of a
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
// The program has the flags of dlroof_bench (--help), but those that choose operators. Link with
// dlroof::benchmark, or with dlroof::benchmark_main, which contains the main function.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
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
  bool weights =
      false;  // read only, the same in every call of a model (--dlroof_cache=cold-weights)
};

// What is known of ONE call (not of one iteration of anything inside it). All of it is optional:
// what is not given and not counted (--dlroof_counters) stays unknown, and 0 means none.
struct Call {
  // [flop] by pipe, "<type>.<unit>": types fp64 fp32 tf32 fp16 bf16 fp8 int8, units vector and
  // matrix (tensor cores, AMX); "fp32" is "fp32.vector". A fused multiply-add is 2.
  std::map<std::string, double> flops = {};
  // [byte] read and written, by the level that they come from: l1 l2 l3 dram host.
  std::map<std::string, double> bytes = {};
  // What `--dlroof_cache=cold` removes from the caches before each call.
  std::vector<MemoryBlock> memory = {};
  // [1] Threads that the call starts or uses by itself (OpenMP), which decide the roofs. Default:
  // --dlroof_threads, or 1. The threads of ->Threads(n) are known without it.
  std::optional<int> threads = {};
  // Called once before the timing, after the first call: whether its result is right. A benchmark
  // with a wrong result fails.
  std::function<bool()> check = {};
};

namespace detail {

// A callable without its type.
struct Callable {
  std::function<void()> once;               // a call on the CPU
  std::function<void(std::int64_t)> times;  // so many calls
  std::function<void(CUstream_st*)> start;  // starts a call on a stream of the GPU
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

// Times `function` in the loop of Google Benchmark, in place of `for (auto _ : state)`, and
// attaches its work, roofs and noise to the result. Use it once in a benchmark, at its end.
//
// `function` makes one complete call and can be called any number of times, also before and after
// the timing (counters, cold caches, energy, CUDA graphs). It is either
//   [&] { ... }                       a call on the CPU, or
//   [&](cudaStream_t stream) { ... }  that starts a call on the stream without waiting for it; the
//                                     benchmark then needs ->UseManualTime(). The time is the
//                                     GPU's.
// It must not use `state`: a pause of the timer inside a call is refused.
template <class F>
void Measure(benchmark::State& state, const Call& call, F&& function) {
  constexpr bool on_gpu = std::is_invocable_v<F&, CUstream_st*>;
  static_assert(on_gpu || std::is_invocable_v<F&>,
                "expected a function without arguments, or with a cudaStream_t");
  detail::Callable callable;
  if constexpr (on_gpu) {
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

// The main function: initializes Google Benchmark and dlroof, runs the benchmarks and reports them.
// Returns the exit code: 1 if a benchmark failed, 2 for bad input.
int Main(int argc, char** argv);

#define DLROOF_BENCHMARK_MAIN() \
  int main(int argc, char** argv) { return dlroof::Main(argc, argv); }

// For a program with a main function and reporters of its own:
//
//   dlroof::Initialize(&argc, argv);              // takes the --dlroof_ flags
//   benchmark::Initialize(&argc, argv);
//   dlroof::Reporter reporter(&mine);             // `mine` gets everything first
//   benchmark::RunSpecifiedBenchmarks(&reporter, dlroof::FileReporter());
//   return dlroof::Report();

// Takes the --dlroof_ flags out of argv. Call it before benchmark::Initialize. Ends the program
// with one sentence and exit code 2 for bad input.
void Initialize(int* argc, char** argv);

// Passes everything to `inner` (may be null) and collects it for Report.
class Reporter : public benchmark::BenchmarkReporter {
 public:
  explicit Reporter(benchmark::BenchmarkReporter* inner = nullptr) : inner_(inner) {}
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  benchmark::BenchmarkReporter* inner_;
};

// Returns the reporter that writes the run file of --benchmark_out (Google Benchmark's JSON with
// dlroof's records), or null without that flag.
benchmark::BenchmarkReporter* FileReporter();

// Writes the table of roofs to standard output, and the page of --dlroof_html. Returns the exit
// code, as Main does.
int Report();

}  // namespace dlroof
