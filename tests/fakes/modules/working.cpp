// One GPU, one op.
#include "tests/fakes/fake_gpu.h"

extern "C" const dlroof::GpuModule* dlroof_cuda_module() {
  static const dlroof::GpuModule module = dlroof::FakeModule();
  return &module;
}
