// The same benchmarks by a simulated clock, so that nothing depends on the machine: a step takes 1 ns, each run of the
// program is up to 1 % slower, and each call up to 1 % more.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <random>

extern const int kParseSteps, kRenderSteps;

static void Run(benchmark::State& state, int steps) {
  static std::mt19937 random(static_cast<unsigned>(getpid()));
  static const double run = std::uniform_real_distribution(1.0, 1.01)(random);
  std::uniform_real_distribution call(1.0, 1.01);
  for (auto _ : state) state.SetIterationTime(1e-9 * steps * run * call(random));
}

static void BM_Parse(benchmark::State& state) { Run(state, kParseSteps); }
BENCHMARK(BM_Parse)->UseManualTime();

static void BM_Render(benchmark::State& state) { Run(state, kRenderSteps); }
BENCHMARK(BM_Render)->UseManualTime();

BENCHMARK_MAIN();
