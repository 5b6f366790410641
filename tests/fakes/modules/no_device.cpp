// Opens, but there is no GPU.
#include "tests/fakes/fake_gpu.h"

extern "C" const dlroof::gpu_loader::GpuModule* dlroof_cuda_module() {
  static const dlroof::gpu_loader::GpuModule module = [] {
    auto made = dlroof::fakes::FakeModule();
    made.devices.clear();
    made.no_device_reason = dlroof::Reason{"the fake driver sees no GPU"};
    return made;
  }();
  return &module;
}
