// The CUDA module's entry: the table of what it has.
#include <algorithm>
#include <iterator>

#include "bench/cuda_module/libraries.h"
#include "bench/cudnn/library.h"
#include "bench/gpu/module.h"
#include "ceilings/gpu/measure.h"
#include "counters/base/version.h"
#include "counters/cuda/clock.h"
#include "counters/cuda/cupti_source.h"
#include "counters/cuda/device.h"
#include "counters/gpu/nvml.h"

namespace dlroof {
namespace {

// The driver's version is a fact, but not of the fingerprint.
Machine Described(int device) {
  auto machine = DescribeGpu(ReadGpuIdentity(device));
  const auto driver = Nvml::Open("libnvidia-ml.so.1", PciBusId(device)).DriverVersion();
  machine.facts["driver"] = driver.empty() ? "not known" : driver;
  return machine;
}

Machine Measured(const GpuMeasureOptions& options) {
  auto machine = MeasureGpu(options);
  machine.facts.merge(Described(options.device).facts);
  return machine;
}

GpuModule Made() {
  PreloadNvrtcParts();
  const auto state = ReadCudaState();
  GpuModule module{.build = kBuildId, .libraries = CudaLibraries(), .why_no_cells = WhyNoCudnn()};
  if (module.why_no_cells.empty())
    std::copy_if(AllCells().begin(), AllCells().end(), std::back_inserter(module.cells),
                 [](const Cell& cell) { return cell.prepare != nullptr && cell.device == "gpu"; });
  module.why_no_device = WhyNoDevice(state);
  for (int number = 0; number < static_cast<int>(state.gpus.size()); ++number)
    if (const auto& gpu = state.gpus[number]; IsUsable(gpu, state))
      module.devices.push_back({number, gpu.name});
  module.sources = CuptiSources(module.devices.empty() ? 0 : module.devices.front().number);
  module.describe = Described;
  module.measure = Measured;
  module.clock = OpenCudaClock;
  return module;
}

}  // namespace
}  // namespace dlroof

extern "C" __attribute__((visibility("default"))) const dlroof::GpuModule* dlroof_cuda_module() {
  static const dlroof::GpuModule module = dlroof::Made();
  return &module;
}
