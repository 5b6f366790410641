// The function table of libdlroof_cuda.so, which contains all code that needs a CUDA library.
// Programs open it at run time and do not link CUDA.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "ceilings/gpu_ceilings/bench.h"
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
  // kBuildId (version.h) of the module. First member: all that a program of another build reads.
  std::uint64_t build = 0;
  std::vector<workload::Backend> backends;   // GPU backends, with `prepare`
  std::vector<CounterSource> sources;        // counters of CUPTI
  std::vector<workload::Library> libraries;  // CUDA runtime, driver, cuBLASLt, CUPTI, cuDNN
  std::vector<GpuDevice> devices;            // usable GPUs
  // Why `devices` is empty (no driver, an old driver, no GPU, ...), with a remedy.
  std::optional<Reason> no_device_reason;
  std::optional<Reason> no_backends_reason;  // why `backends` is empty: built without cuDNN, ...
  // Returns the GPU's name, fingerprint and facts, without ceilings. Throws with CUDA's message.
  std::function<machine::Machine(int device)> describe;
  // Returns the machine with ceilings, in by_threads[1]. Empty if the module cannot measure them.
  std::function<machine::Machine(const gpu_ceilings::GpuMeasureOptions&)> measure;
  // Makes the GPU current for the calling thread and returns a clock on it.
  std::function<std::shared_ptr<gpu::GpuClock>(int device)> clock;
};

}  // namespace dlroof::gpu_loader

// Returns the table, which lives as long as the module. The only entry point. Throws on failure.
extern "C" const dlroof::gpu_loader::GpuModule* dlroof_cuda_module();
