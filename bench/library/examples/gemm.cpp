// C += A B with three loop orders: equal FLOPs, three different distances to the same roof.
#include <dlroof/benchmark.h>

#include <algorithm>
#include <vector>

using Matrix = std::vector<float>;

static void ByElement(std::size_t n, const Matrix& a, const Matrix& b, Matrix& c) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t k = 0; k < n; ++k) c[i * n + j] += a[i * n + k] * b[k * n + j];
}

static void ByRow(std::size_t n, const Matrix& a, const Matrix& b, Matrix& c) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
}

static void ByTile(std::size_t n, const Matrix& a, const Matrix& b, Matrix& c) {
  constexpr std::size_t kTile = 64;
  for (std::size_t k0 = 0; k0 < n; k0 += kTile)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t k = k0; k < std::min(n, k0 + kTile); ++k)
        for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
}

static void BM_Gemm(benchmark::State& state, decltype(&ByRow) gemm) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const Matrix a(n * n, 1), b(n * n, 1);
  Matrix c(n * n);
  dlroof::Measure(state, {.flops = {{"fp32", 2.0 * n * n * n}}, .bytes = {{"dram", 16.0 * n * n}}},
                  [&] { gemm(n, a, b, c); });
}
BENCHMARK_CAPTURE(BM_Gemm, by_element, ByElement)->Arg(256)->UseRealTime();
BENCHMARK_CAPTURE(BM_Gemm, by_row, ByRow)->Arg(256)->UseRealTime();
BENCHMARK_CAPTURE(BM_Gemm, by_tile, ByTile)->Arg(256)->UseRealTime();
