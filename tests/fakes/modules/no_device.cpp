// Opens, but there is no GPU.
#include "tests/fakes/fake_gpu.h"

extern "C" const dlroof::GpuModule* dlroof_cuda_module() {
  static const dlroof::GpuModule module = [] {
    auto made = dlroof::FakeModule();
    made.devices.clear();
    made.why_no_device = "the fake driver sees no GPU";
    return made;
  }();
  return &module;
}
