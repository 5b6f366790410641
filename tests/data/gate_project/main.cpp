// Benchmarks of a made-up project. Compiled once; kernel.cpp changes from commit to commit.
#include <benchmark/benchmark.h>

double Parse(double x);
double Render(double x);

static void BM_Parse(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Parse(1));
}
BENCHMARK(BM_Parse);

static void BM_Render(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Render(1));
}
BENCHMARK(BM_Render);

BENCHMARK_MAIN();
