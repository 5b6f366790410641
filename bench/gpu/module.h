// Table that libdlroof_cuda.so, opened at run time, gives to the program that opens it: everything
// that needs a CUDA library. The programs themselves link none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "ceilings/gpu/measure.h"
#include "ceilings/machine/machine.h"
#include "counters/counter_source.h"
#include "counters/gpu/clock.h"

namespace dlroof {

struct GpuDevice {
  int number = 0;  // CUDA's
  std::string name;
};

struct GpuModule {
  std::uint32_t abi = 0;               // kGpuModuleAbi of the build that made it; stands first
  std::vector<Cell> cells;             // cuDNN's ops, with which the program completes its own
  std::vector<CounterSource> sources;  // CUPTI
  std::vector<Library> libraries;      // cuDNN, CUDA runtime, driver: for run files and the doctor
  std::vector<GpuDevice> devices;      // the GPUs that can be used
  // Why no GPU can be used although the module could be opened (no driver, too old, no device ...),
  // with the cure; empty: devices has some.
  std::string why_no_device;
  std::string why_no_cells;  // the same for cells, where there are none: built without cuDNN, ...
  // Device, name, fingerprint and facts of a GPU, without ceilings. Throws what CUDA says.
  std::function<Machine(int device)> describe;
  // `describe` with ceilings, all under one thread. Absent in a build without them.
  std::function<Machine(const GpuMeasureOptions&)> measure;
  // Makes the device the current one of the calling thread.
  std::function<GpuClock(int device)> clock;
};

// The sizes of everything that crosses the border, hashed: a module of another build is refused
// before anything but this number of it is read.
constexpr std::uint32_t HashOfSizes(std::initializer_list<std::size_t> sizes) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const std::size_t size : sizes)
    hash = static_cast<std::uint32_t>((hash ^ size) * std::uint64_t{16777619U});
  return hash;
}

inline constexpr std::uint32_t kGpuModuleAbi =
    HashOfSizes({/* raise where meanings change and sizes do not */ 2,
                 sizeof(GpuModule),
                 sizeof(Cell),
                 sizeof(Workload),
                 sizeof(PreparedCall),
                 sizeof(RunSettings),
                 sizeof(Verification),
                 sizeof(MemoryRegion),
                 sizeof(Work),
                 sizeof(Library),
                 sizeof(BenchmarkName),
                 sizeof(CounterSource),
                 sizeof(CountRequest),
                 sizeof(Counted),
                 sizeof(Machine),
                 sizeof(CeilingSet),
                 sizeof(Ceiling),
                 sizeof(Proof),
                 sizeof(GpuClock),
                 sizeof(GpuHealth),
                 sizeof(GpuBatch),
                 sizeof(GpuDevice),
                 sizeof(GpuMeasureOptions)});

}  // namespace dlroof

// The module's one entry. The table lives as long as the module. Throws std::exception where it
// cannot be made.
extern "C" const dlroof::GpuModule* dlroof_cuda_module();
