// Five kernels of known work whose FLOPs and bytes are counted by counters that are made up: on the
// CPU by the project's own reading of perf events from a kernel that is made up
// (--dlroof_counters=made-up), on the fake GPU by its range profiler (tests/fakes/modules).
#include <dlfcn.h>
#include <dlroof/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "counters/perf/perf_events.h"

namespace {

using Floats = std::vector<float>;

// What this program did since its start, by event.
std::map<std::string, std::uint64_t> events;

constexpr const char* kTable = R"({"name": "made-up CPU", "vendor": "x", "families": [1],
  "slots": 2, "source": "made up", "events": {
    "ADD": {"event": "0x01", "umask": "0x01"}, "FMA": {"event": "0x01", "umask": "0x02"},
    "LINE": {"event": "0x02", "umask": "0x01"}},
  "quantities": [{"flops": "fp32.vector", "terms": {"ADD": 1, "FMA": 2}},
                 {"bytes": "dram", "terms": {"LINE": 64}}]})";

std::vector<std::vector<dlroof::perf::PerfReading>> CountEvents(
    const std::vector<dlroof::perf::PmuEvent>& wanted, const std::function<void()>& call) {
  const auto begin = events;
  call();
  std::vector<std::vector<dlroof::perf::PerfReading>> readings;
  for (const auto& event : wanted) {
    const auto before = begin.find(event.name);
    readings.push_back(
        {{before == begin.end() ? 0 : before->second, events[event.name], 1000, 1000}});
  }
  return readings;
}

[[maybe_unused]] const bool registered = dlroof::RegisterCounterSource(
    {.name = "made-up",
     .device = "cpu",
     .provenance = dlroof::Provenance::kMeasured,
     .count = [](const dlroof::CountRequest& request) {
       return dlroof::perf::CountWithPerf(dlroof::perf::PmuTableFromText(kTable, "made up"),
                                          request, CountEvents);
     }});

// ---- the kernels: what they do to each of n floats, and how many arrays they read and write ----

struct Kernel {
  const char* name;
  int additions, multiply_adds, arrays;
  void (*run)(const Floats& x, const Floats& y, Floats& z);
};

constexpr Kernel kKernels[] = {
    {"copy", 0, 0, 2, [](const Floats& x, const Floats&, Floats& z) { z = x; }},
    {"sum", 1, 0, 1,
     [](const Floats& x, const Floats&, Floats& z) {
       z[0] = std::accumulate(x.begin(), x.end(), 0.0F);
     }},
    {"add", 1, 0, 3,
     [](const Floats& x, const Floats& y, Floats& z) {
       for (std::size_t i = 0; i < x.size(); ++i) z[i] = x[i] + y[i];
     }},
    {"triad", 0, 1, 3,
     [](const Floats& x, const Floats& y, Floats& z) {
       for (std::size_t i = 0; i < x.size(); ++i) z[i] = x[i] + 3 * y[i];
     }},
    {"polynomial", 1, 4, 2,
     [](const Floats& x, const Floats&, Floats& z) {
       for (std::size_t i = 0; i < x.size(); ++i)
         z[i] = 1 + ((((x[i] + 2) * x[i] + 3) * x[i] + 4) * x[i] + 5) * x[i];
     }},
};
constexpr int kLast = static_cast<int>(std::size(kKernels)) - 1;
constexpr std::size_t kFloats = 1 << 14;

const Kernel& KernelOf(benchmark::State& state) {
  return kKernels[static_cast<std::size_t>(state.range(0))];
}

void BM_Counted(benchmark::State& state) {
  const auto& kernel = KernelOf(state);
  const Floats x(kFloats, 1), y(kFloats, 2);
  Floats z(kFloats, 3);
  dlroof::Measure(state, [&] {
    kernel.run(x, y, z);
    events["ADD"] += static_cast<std::uint64_t>(kernel.additions) * kFloats;
    events["FMA"] += static_cast<std::uint64_t>(kernel.multiply_adds) * kFloats;
    events["LINE"] += static_cast<std::uint64_t>(kernel.arrays) * kFloats * sizeof(float) / 64;
  });
}
BENCHMARK(BM_Counted)->DenseRange(0, kLast)->UseRealTime();
BENCHMARK(BM_Counted)->Name("BM_CountedExactly")->Arg(3)->Iterations(7)->Repetitions(3);

// Starts the kernel on the fake GPU in two launches of half the floats each.
void BM_CountedOnGpu(benchmark::State& state) {
  using Launch = void (*)(double multiply_adds, double additions, double dram_bytes);
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  const auto launch =
      driver == nullptr ? nullptr : reinterpret_cast<Launch>(dlsym(driver, "dlroof_fake_launch"));
  if (launch == nullptr) return state.SkipWithError("libcuda_fake.so is not there");
  const auto& kernel = KernelOf(state);
  dlroof::Measure(state, [&](CUstream_st*) {
    for (int half = 0; half < 2; ++half)
      launch(kernel.multiply_adds * kFloats / 2.0, kernel.additions * kFloats / 2.0,
             kernel.arrays * kFloats * sizeof(float) / 2.0);
  });
}
BENCHMARK(BM_CountedOnGpu)->DenseRange(0, kLast)->UseManualTime();

}  // namespace
