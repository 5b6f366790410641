// A GPU without cuDNN.
#include "tests/fakes/fake_gpu.h"

extern "C" const dlroof::gpu_loader::GpuModule* dlroof_cuda_module() {
  static const dlroof::gpu_loader::GpuModule module = [] {
    auto made = dlroof::fakes::FakeModule();
    made.backends.clear();
    made.no_backends_reason = dlroof::Reason{"the fake was built without cuDNN"};
    return made;
  }();
  return &module;
}
