// A GPU whose counters take the program down and whose ceilings cannot be measured.
#include <cstdlib>

#include "tests/fakes/fake_gpu.h"

extern "C" const dlroof::gpu_loader::GpuModule* dlroof_cuda_module() {
  static const dlroof::gpu_loader::GpuModule module = [] {
    auto made = dlroof::fakes::FakeModule();
    made.sources = {{.name = "cupti",
                     .device = "gpu",
                     .provenance = dlroof::Provenance::kMeasured,
                     .unavailable = []() -> std::optional<dlroof::Reason> { std::abort(); },
                     .count = {}}};
    made.measure = [](const dlroof::gpu_ceilings::GpuMeasureOptions&) -> dlroof::machine::Machine {
      throw std::runtime_error("the fake measures no ceilings");
    };
    return made;
  }();
  return &module;
}
