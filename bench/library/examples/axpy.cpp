// y = a x + y: two FLOPs and three memory accesses per element. The size of the vectors decides
// which memory level is the bound.
#include <dlroof/benchmark.h>

#include <vector>

static void Axpy(float a, const std::vector<float>& x, std::vector<float>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += a * x[i];
}

static void BM_Axpy(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<float> x(n, 1), y(n, 2);
  // [byte] read x and y, write y
  dlroof::Measure(state, {.flops = {{"fp32", 2.0 * n}}, .bytes = {{"dram", 12.0 * n}}},
                  [&] { Axpy(3, x, y); });
}
BENCHMARK(BM_Axpy)->RangeMultiplier(16)->Range(1 << 12, 1 << 24)->UseRealTime();
