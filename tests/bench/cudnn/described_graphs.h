// Graphs of cuDNN's frontend for GPUs that are not there. cuDNN proposes kernels that it compiles
// at run time only where there is a driver: the toolkit's stub of one is enough. It refuses to load
// what was compiled, and no earlier step fails.
#pragma once

#include <fmt/format.h>

#include <array>
#include <functional>
#include <string>

#include "bench/cudnn/graph.h"

namespace dlroof::fakes {

// Returns "proposed" if cuDNN proposes plans for the call that `describe` describes, with `compile`
// "compiled" if it also compiles one up to its load (seconds), or else the reason.
std::string Planned(const std::function<void(cudnn::GraphCall& call)>& describe,
                    int compute_capability, bool compile = false);

// Returns what `text` writes in a process with the stub of a driver, which would affect other
// tests.
std::string WithStub(const std::function<std::string()>& text);

// GPUs that are not there, as cuDNN's heuristics take them (cuDNN 9.8 and newer): the properties
// that CUDA reports, in its JSON. The values are those of a common chip of each compute capability,
// from CUDA's tables of technical specifications; a real device's may shift cuDNN's ranking.
struct DescribedGpu {
  int compute_capability;  // 90 is 9.0
  int multiprocessors;
  int shared_bytes_per_block;  // at most, opted in
  int threads_per_multiprocessor;
};
inline constexpr std::array<DescribedGpu, 7> kDescribedGpus = {{{75, 40, 65536, 1024},
                                                                {80, 108, 166912, 2048},
                                                                {86, 84, 101376, 1536},
                                                                {89, 142, 101376, 1536},
                                                                {90, 132, 232448, 2048},
                                                                {100, 148, 232448, 2048},
                                                                {120, 188, 101376, 1536}}};

inline std::string Json(const DescribedGpu& gpu) {
  return fmt::format(
      R"({{"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"deviceName":"none",)"
      R"("cudaDeviceId":0,"deviceVer":{}0,"multiProcessorCount":{},"driverVer":13000,)"
      R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":{},)"
      R"("reservedSharedMemoryPerBlock":1024,"totalGlobalMem":80000000000,"regsPerBlock":65536,)"
      R"("smClockRateKHz":1980000,"memClockRateKHz":2619000,"l2CacheSize":52428800,"warpSize":32,)"
      R"("maxRegistersPerSM":65536,"pciDeviceId":0,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,)"
      R"("maxThreadsPerSM":{},"isTccDriver":0,"supportCoopLaunch":1}})",
      gpu.compute_capability, gpu.multiprocessors, gpu.shared_bytes_per_block,
      gpu.threads_per_multiprocessor);
}

}  // namespace dlroof::fakes
