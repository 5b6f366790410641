// y = a x + y: two operations and three memory accesses per element. By size of the vectors, it is
// bound by another level of the memory.
#include <dlroof/benchmark.h>

#include <vector>

static void Axpy(float a, const std::vector<float>& x, std::vector<float>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += a * x[i];
}

static void BM_Axpy(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<float> x(n, 1), y(n, 2);
  // [byte] Reads x and y, writes y.
  dlroof::Measure(state, {.flops = {{"fp32", 2.0 * n}}, .bytes = {{"dram", 12.0 * n}}},
                  [&] { Axpy(3, x, y); });
}
BENCHMARK(BM_Axpy)->RangeMultiplier(16)->Range(1 << 12, 1 << 24)->UseRealTime();
