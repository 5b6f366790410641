// The entry of a module for a GPU that is made up. Each module's file has its own difference.
#pragma once

#include "tests/fakes/fake_gpu.h"

// Changes what this module is beyond FakeModule.
void Change(dlroof::gpu_loader::GpuModule& module);

extern "C" const dlroof::gpu_loader::GpuModule* dlroof_cuda_module() {
  static const dlroof::gpu_loader::GpuModule module = [] {
    auto made = dlroof::fakes::FakeModule();
    Change(made);
    return made;
  }();
  return &module;
}
