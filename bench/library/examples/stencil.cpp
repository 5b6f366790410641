// One step of a five-point stencil on n x n doubles. FLOPs are specified; bytes are counted by
// --dlroof_counters=perf or simulate.
#include <dlroof/benchmark.h>

#include <vector>

static void Step(std::size_t n, const std::vector<double>& from, std::vector<double>& to) {
  for (std::size_t i = n; i + n < from.size(); i += n)
    for (std::size_t j = 1; j + 1 < n; ++j)
      to[i + j] = 0.25 * (from[i + j - n] + from[i + j + n] + from[i + j - 1] + from[i + j + 1]);
}

static void BM_Stencil(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  std::vector<double> from(n * n, 1), to(n * n);
  dlroof::Call call;
  call.flops["fp64"] = 4.0 * (n - 2) * (n - 2);
  call.memory = {{from.data(), from.size() * sizeof(double)},
                 {to.data(), to.size() * sizeof(double)}};
  call.check = [&] { return to[n + 1] == 1; };
  dlroof::Measure(state, call, [&] { Step(n, from, to); });
}
BENCHMARK(BM_Stencil)->Arg(256)->Arg(2048)->UseRealTime();
