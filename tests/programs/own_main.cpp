// A program with a main function, a reporter and a flag of its own, which dlroof was added to.
#include <dlroof/benchmark.h>

#include <cstdio>

namespace {

class NamesOnly : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const auto& run : runs) std::printf("mine: %s\n", run.benchmark_name().c_str());
  }
};

void BM_Add(benchmark::State& state) {
  std::vector<float> x(1 << 12, 1), y(1 << 12, 2);
  dlroof::Measure(state, {.flops = {{"fp32", 4096}}, .bytes = {{"dram", 12 * 4096}}}, [&] {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] += x[i];
  });
}
BENCHMARK(BM_Add)->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  dlroof::Initialize(&argc, argv);
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) std::printf("my argument: %s\n", argv[i]);
  NamesOnly mine;
  dlroof::Reporter reporter(&mine);
  benchmark::RunSpecifiedBenchmarks(&reporter, dlroof::FileReporter());
  return dlroof::Report();
}
