// Measures the cost of starting a oneDNN primitive, and of an empty OpenMP parallel region.
#include <fmt/format.h>
#include <omp.h>

#include <dnnl.hpp>
#include <unordered_map>

#include "ceilings/cpu_ceilings/measure_steps.h"
#include "counters/base/process.h"

namespace dlroof::onednn_launch {
namespace {

constexpr int kFloatsPerThread = 16;  // one vector of the widest instruction set

// Sets OpenMP's number of threads until the result's scope ends.
AtEnd UseThreads(int threads) {
  const int before = omp_get_max_threads();
  omp_set_dynamic(0);  // OMP_DYNAMIC may start fewer threads than oneDNN expects
  omp_set_num_threads(threads);
  return AtEnd([before] { omp_set_num_threads(before); });
}

struct TinyPrimitive {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::memory memory;
  dnnl::eltwise_forward primitive;
  std::unordered_map<int, dnnl::memory> arguments;

  explicit TinyPrimitive(int threads) {
    const dnnl::memory::desc shape({dnnl::memory::dim{kFloatsPerThread} * threads},
                                   dnnl::memory::data_type::f32, dnnl::memory::format_tag::a);
    memory = dnnl::memory(shape, engine);
    auto* values = memory.map_data<float>();
    for (int i = 0; i < kFloatsPerThread * threads; ++i) values[i] = 1;
    memory.unmap_data(values);
    primitive = dnnl::eltwise_forward(dnnl::eltwise_forward::primitive_desc(
        engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::eltwise_relu, shape, shape,
        0.0F, 0.0F));
    arguments = {{DNNL_ARG_SRC, memory}, {DNNL_ARG_DST, memory}};
  }

  void Run() {
    primitive.execute(stream, arguments);
    stream.wait();
  }
};

cpu_ceilings::LaunchCost Measure(int threads, const machine::RatePolicy& policy) {
  const auto scope = UseThreads(threads);
  TinyPrimitive tiny(threads);
  auto cost = cpu_ceilings::MeasureCalls(
      [&](std::int64_t calls) {
        for (; calls > 0; --calls) tiny.Run();
      },
      policy);
  const auto* version = dnnl::version();
  cost.how = fmt::format(
      "oneDNN {}.{}.{} eltwise relu f32 on {} elements, execute and wait, {} threads allowed; {}",
      version->major, version->minor, version->patch, kFloatsPerThread * threads, threads,
      cost.how);
  return cost;
}

// Measures an empty parallel region of the OpenMP runtime that oneDNN uses.
cpu_ceilings::LaunchCost MeasureForkJoin(int threads, const machine::RatePolicy& policy) {
  const auto scope = UseThreads(threads);
  auto cost = cpu_ceilings::MeasureCalls(
      [](std::int64_t calls) {
        for (; calls > 0; --calls) {
#pragma omp parallel
          asm volatile("" : : : "memory");  // otherwise the compiler deletes the region
        }
      },
      policy);
  cost.how =
      fmt::format("OpenMP parallel region without work on {} threads; {}", threads, cost.how);
  return cost;
}

using cpu_ceilings::OverheadProbes;
[[maybe_unused]] const auto& fork_join_added = OverheadProbes()["fork-join"] = MeasureForkJoin;
[[maybe_unused]] const auto& launch_added = OverheadProbes()["launch"] = Measure;

}  // namespace
}  // namespace dlroof::onednn_launch
