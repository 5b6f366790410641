// A GPU whose counters take the program down and whose ceilings cannot be measured.
#include <cstdlib>

#include "tests/fakes/modules/module.h"

void Change(dlroof::gpu_loader::GpuModule& module) {
  module.sources = {{.name = "cupti",
                     .device = "gpu",
                     .provenance = dlroof::Provenance::kMeasured,
                     .unavailable = []() -> std::optional<dlroof::Reason> { std::abort(); },
                     .count = {}}};
  module.measure = [](const dlroof::gpu_ceilings::GpuMeasureOptions&) -> dlroof::machine::Machine {
    throw std::runtime_error("the fake measures no ceilings");
  };
}
