// The CUDA module's entry: the table of what it has.
#include "bench/cuda_libraries.h"
#include "bench/cudnn_cells.h"
#include "bench/gpu_module.h"
#include "ceilings/gpu_described.h"
#include "counters/cuda_clock.h"
#include "counters/cuda_device.h"

namespace dlroof {
namespace {

GpuModule Made() {
  PreloadNvrtcParts();
  const auto state = ReadCudaState();
  GpuModule module;
  module.abi = kGpuModuleAbi;
  module.libraries = CudaLibraries();
  module.why_no_cells = WhyNoCudnn();
  if (module.why_no_cells.empty()) module.cells = CudnnCells();
  module.why_no_device = WhyNoDevice(state);
  for (int number = 0; number < static_cast<int>(state.gpus.size()); ++number)
    if (const auto& gpu = state.gpus[number]; IsUsable(gpu, state))
      module.devices.push_back({number, gpu.name});
  module.describe = [](int device) { return DescribeGpu(ReadGpuIdentity(device)); };
  module.clock = OpenCudaClock;
  return module;
}

}  // namespace
}  // namespace dlroof

extern "C" __attribute__((visibility("default"))) const dlroof::GpuModule* dlroof_cuda_module() {
  static const dlroof::GpuModule module = dlroof::Made();
  return &module;
}
