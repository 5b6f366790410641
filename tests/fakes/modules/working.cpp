// One GPU, one op.
#include "tests/fakes/fake_gpu.h"

extern "C" const dlroof::gpu_loader::GpuModule* dlroof_cuda_module() {
  static const dlroof::gpu_loader::GpuModule module = dlroof::fakes::FakeModule();
  return &module;
}
