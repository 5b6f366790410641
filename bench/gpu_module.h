// What libdlroof_cuda.so, opened at run time, gives to the program that opens it: everything that
// needs a CUDA library. The programs themselves link none.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/workload.h"
#include "ceilings/machine.h"
#include "counters/counter_source.h"

namespace dlroof {

struct GpuMeasureOptions {
  int device = 0;      // CUDA's number
  bool quick = false;  // fewer repetitions
  bool thorough = false;
  std::function<void(const std::string& row)> progress;  // may be empty
};

struct GpuModule {
  int abi = 0;                         // kGpuModuleAbi of the build that made it
  std::vector<Cell> cells;             // cuDNN's ops, to be registered by the program
  std::vector<CounterSource> sources;  // CUPTI
  std::vector<Library> libraries;      // cuDNN, CUDA runtime, driver: for run files and the doctor
  std::vector<std::string> devices;    // names of the GPUs that can be used
  // Why no GPU can be used although the module could be opened (no driver, too old, no device ...),
  // with the cure; empty: devices has some.
  std::string why_no_device;
  std::function<Machine(const GpuMeasureOptions&)> measure;
  std::function<std::string(int device)> fingerprint;
};

inline constexpr int kGpuModuleAbi = 1;

}  // namespace dlroof

// The module's one entry. The table lives as long as the module.
extern "C" const dlroof::GpuModule* dlroof_cuda_module();
