// Benchmarks as a user of <dlroof/benchmark.h> writes them, for tests/cli/test_own_benchmarks.py.
#include <dlroof/benchmark.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace {

using Floats = std::vector<float>;

// ---- five kernels whose work is known; arrays of `bytes` bytes each ----

Floats Filled(const benchmark::State& state) {
  return Floats(static_cast<std::size_t>(state.range(0)) / sizeof(float), 1.5F);
}

__attribute__((noinline)) void Scale(Floats& x) {
  for (auto& each : x) each *= 1.0000001F;
}
__attribute__((noinline)) void Add(const Floats& x, Floats& y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += x[i];
}
__attribute__((noinline)) void Triad(const Floats& x, const Floats& y, Floats& z) {
  for (std::size_t i = 0; i < x.size(); ++i) z[i] = x[i] + 3 * y[i];
}
__attribute__((noinline)) float Sum(const Floats& x) {
  float sum = 0;
  for (const float each : x) sum += each;
  return sum;
}
__attribute__((noinline)) void Copy(const Floats& x, Floats& y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i];
}

void BM_Scale(benchmark::State& state) {
  auto x = Filled(state);
  const double n = static_cast<double>(x.size());
  dlroof::Measure(state, {.flops = {{"fp32", n}}, .bytes = {{"dram", 8 * n}}}, [&] { Scale(x); });
}
BENCHMARK(BM_Scale)->Arg(1 << 16)->UseRealTime();

void BM_Add(benchmark::State& state) {
  auto x = Filled(state), y = x;
  const double n = static_cast<double>(x.size());
  dlroof::Measure(state, {.flops = {{"fp32.vector", n}}, .bytes = {{"dram", 12 * n}}},
                  [&] { Add(x, y); });
}
BENCHMARK(BM_Add)->Arg(1 << 16)->UseRealTime();

void BM_Triad(benchmark::State& state) {
  auto x = Filled(state), y = x, z = x;
  const double n = static_cast<double>(x.size());
  dlroof::Measure(state, {.flops = {{"fp32", 2 * n}}, .bytes = {{"dram", 12 * n}}},
                  [&] { Triad(x, y, z); });
}
BENCHMARK(BM_Triad)->Arg(1 << 16)->UseRealTime();

void BM_Sum(benchmark::State& state) {
  const auto x = Filled(state);
  const double n = static_cast<double>(x.size());
  dlroof::Measure(state, {.flops = {{"fp32", n}}, .bytes = {{"dram", 4 * n}}},
                  [&] { return Sum(x); });
}
BENCHMARK(BM_Sum)->Arg(1 << 16)->UseRealTime();

void BM_Copy(benchmark::State& state) {
  auto x = Filled(state), y = x;
  const double n = static_cast<double>(x.size());
  dlroof::Call call{.flops = {{"fp32", 0}}, .bytes = {{"dram", 8 * n}}};
  call.memory = {{x.data(), x.size() * 4}, {y.data(), y.size() * 4}};
  call.check = [&] { return y.back() == 1.5F; };
  dlroof::Measure(state, call, [&] { Copy(x, y); });
}
BENCHMARK(BM_Copy)->Arg(1 << 16)->UseRealTime();

// ---- ways to register ----

void Spin(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

void BM_Threads(benchmark::State& state) {
  Floats x(1 << 10, 1), y(1 << 10, 2);
  dlroof::Measure(state, {.flops = {{"fp32", 1024}}}, [&] { Add(x, y); });
}
BENCHMARK(BM_Threads)->Threads(2)->UseRealTime();

class Fixture : public benchmark::Fixture {
 public:
  void SetUp(const benchmark::State&) override { x.assign(1 << 10, 1); }
  void TearDown(const benchmark::State&) override { x.clear(); }
  Floats x;
};
BENCHMARK_F(Fixture, Scale)(benchmark::State& state) {
  dlroof::Measure(state, {.flops = {{"fp32", 1024}}}, [&] { Scale(x); });
}

template <class T>
void BM_Template(benchmark::State& state) {
  std::vector<T> x(1 << 10, 1);
  dlroof::Measure(state, [&] {
    for (auto& each : x) each += 1;
  });
}
BENCHMARK_TEMPLATE(BM_Template, float);
BENCHMARK_TEMPLATE(BM_Template, std::int64_t);

void BM_Product(benchmark::State& state) {
  const double seconds = 1e-6 * static_cast<double>(state.range(0) * state.range(1));
  dlroof::Measure(state, {.flops = {{"fp64", 1e3}}}, [&] { Spin(seconds); });
}
BENCHMARK(BM_Product)->ArgsProduct({{1, 2}, {20, 40}})->UseRealTime();

void BM_Exactly(benchmark::State& state) {
  std::int64_t calls = 0;
  dlroof::Measure(state, [&] { ++calls; });
  state.counters["calls"] = static_cast<double>(calls);
}
BENCHMARK(BM_Exactly)->Iterations(10);
BENCHMARK(BM_Exactly)->Iterations(30);

void BM_Repeated(benchmark::State& state) {
  dlroof::Measure(state, [] { Spin(1e-5); });
}
BENCHMARK(BM_Repeated)->Repetitions(4)->ReportAggregatesOnly(false);

void BM_Complexity(benchmark::State& state) {
  dlroof::Measure(state, [&] { Spin(1e-8 * static_cast<double>(state.range(0))); });
  state.SetComplexityN(state.range(0));
}
BENCHMARK(BM_Complexity)->RangeMultiplier(4)->Range(64, 1024)->Complexity(benchmark::oN);

void Captured(benchmark::State& state, double seconds) {
  dlroof::Measure(state, [&] { Spin(seconds); });
}
BENCHMARK_CAPTURE(Captured, short_call, 1e-5)->UseRealTime();
BENCHMARK_CAPTURE(Captured, long_call, 4e-5)->UseRealTime();

void BM_Plain(benchmark::State& state) {
  for (auto _ : state) Spin(1e-6);
}
BENCHMARK(BM_Plain);

// ---- the cost of Measure: the same call of about 1 us in a plain loop and in Measure ----

void Chain() {
  unsigned long value = 3;
  benchmark::DoNotOptimize(value);
  for (int i = 0; i < 1000; ++i) {
    value *= value;
    benchmark::DoNotOptimize(value);
  }
}

void BM_CostOfALoop(benchmark::State& state) {
  for (auto _ : state) Chain();
}
BENCHMARK(BM_CostOfALoop)->UseRealTime();

void BM_CostOfMeasure(benchmark::State& state) {
  dlroof::Measure(state, [] { Chain(); });
}
BENCHMARK(BM_CostOfMeasure)->UseRealTime();

// ---- what fails, in one sentence ----

void Refused(benchmark::State& state, const dlroof::Call& call) {
  dlroof::Measure(state, call, [] {});
}
BENCHMARK_CAPTURE(Refused, check, {.check = [] { return false; }})->Name("BM_WrongResult");
BENCHMARK_CAPTURE(Refused, pipe, {.flops = {{"float", 1}}})->Name("BM_NoSuchPipe");
BENCHMARK_CAPTURE(Refused, level, {.bytes = {{"memory", 1}}})->Name("BM_NoSuchLevel");
BENCHMARK_CAPTURE(Refused, flops, {.flops = {{"fp32", -1}}})->Name("BM_Negative");

void BM_Throws(benchmark::State& state) {
  dlroof::Measure(state, []() { throw std::runtime_error("no more tea"); });
}
BENCHMARK(BM_Throws);

void BM_Pauses(benchmark::State& state) {
  dlroof::Measure(state, [&] {
    state.PauseTiming();
    Spin(1e-5);
    state.ResumeTiming();
  });
}
BENCHMARK(BM_Pauses);

// Pauses only while Google Benchmark's loop runs.
void BM_PausesLater(benchmark::State& state) {
  dlroof::Measure(state, [&] {
    const bool running = state.iterations() > 0;
    if (running) state.PauseTiming();
    Spin(1e-5);
    if (running) state.ResumeTiming();
  });
}
BENCHMARK(BM_PausesLater)->UseRealTime();

// ---- a GPU ----

void BM_Gpu(benchmark::State& state) {
  dlroof::Measure(state, {.flops = {{"fp16.matrix", 1e9}}, .bytes = {{"dram", 1e6}}},
                  [](CUstream_st*) {});
}
BENCHMARK(BM_Gpu)->UseManualTime();
BENCHMARK(BM_Gpu)->Name("BM_GpuOfHost");

}  // namespace
