// The table of libdlroof_cuda.so for the program that opens it at run time: all functions that need
// a CUDA library. The programs themselves do not link CUDA.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "ceilings/gpu_ceilings/measure.h"
#include "ceilings/machine/machine.h"
#include "counters/base/counter_manager.h"
#include "counters/base/error.h"
#include "counters/gpu/clock.h"

namespace dlroof::gpu_loader {

struct GpuDevice {
  int number = 0;  // CUDA's number of the GPU
  std::string name;
};

struct GpuModule {
  // kBuildId (version.h) of the module's build. It is the first member, because a program reads
  // only this member of a module from another build.
  std::uint64_t build = 0;
  std::vector<workload::Backend> backends;   // `prepare` of the GPU backends
  std::vector<CounterSource> sources;        // CUPTI's counters
  std::vector<workload::Library> libraries;  // CUDA runtime, driver, cuBLASLt, CUPTI, cuDNN
  std::vector<GpuDevice> devices;            // the usable GPUs
  // Why `devices` is empty (no driver, an old driver, no GPU ...), with a remedy.
  std::optional<Reason> no_device_reason;
  std::optional<Reason> no_backends_reason;  // why `backends` is empty: built without cuDNN, ...
  // Returns a GPU's name, fingerprint and facts, without ceilings. Throws CUDA's error message.
  std::function<machine::Machine(int device)> describe;
  // Returns what `describe` returns, with ceilings, all for one host thread. Empty if the module
  // cannot measure ceilings.
  std::function<machine::Machine(const gpu_ceilings::GpuMeasureOptions&)> measure;
  // Makes the device current for the calling thread and returns the device's clock.
  std::function<std::shared_ptr<gpu::GpuClock>(int device)> clock;
};

}  // namespace dlroof::gpu_loader

// The module's only entry point. The table exists as long as the module. Throws std::exception if
// the module cannot be initialized.
extern "C" const dlroof::gpu_loader::GpuModule* dlroof_cuda_module();
