// Table that libdlroof_cuda.so, opened at run time, gives to the program that opens it: everything
// that needs a CUDA library. The programs themselves link none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "ceilings/gpu_ceilings/measure.h"
#include "ceilings/machine/machine.h"
#include "counters/counter_manager.h"
#include "counters/gpu/clock.h"

namespace dlroof::gpu_loader {

struct GpuDevice {
  int number = 0;  // CUDA's
  std::string name;
};

struct GpuModule {
  // kBuildId (version.h) of the build that made it. It comes first: the program reads nothing else
  // of a module of another build.
  std::uint64_t build = 0;
  std::vector<workload::Backend> cells;  // cuDNN's ops, with which the program completes its own
  std::vector<CounterSource> sources;    // CUPTI
  std::vector<workload::Library>
      libraries;                   // cuDNN, CUDA runtime, driver: for run files and the doctor
  std::vector<GpuDevice> devices;  // the GPUs that can be used
  // Why no GPU can be used although the module could be opened (no driver, too old, no device ...),
  // with the cure; empty: devices has some.
  std::string why_no_device;
  std::string why_no_cells;  // the same for cells, where there are none: built without cuDNN, ...
  // Device, name, fingerprint and facts of a GPU, without ceilings. Throws what CUDA says.
  std::function<machine::Machine(int device)> describe;
  // `describe` with ceilings, all under one thread. Absent in a build without them.
  std::function<machine::Machine(const gpu_ceilings::GpuMeasureOptions&)> measure;
  // Makes the device the current one of the calling thread.
  std::function<gpu::GpuClock(int device)> clock;
};

}  // namespace dlroof::gpu_loader

// The module's one entry. The table lives as long as the module. Throws std::exception where it
// cannot be made.
extern "C" const dlroof::gpu_loader::GpuModule* dlroof_cuda_module();
