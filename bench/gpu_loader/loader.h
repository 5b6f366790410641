// Opens the CUDA module, or explains in one sentence why no GPU can be used and what to do about
// it, and caches a GPU's ceilings. Needs no CUDA header or library.
#pragma once

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

#include "bench/gpu_loader/module.h"
#include "ceilings/machine_file/machine_cache.h"

namespace dlroof::gpu_loader {

// The devices whose benchmarks a run contains.
struct DeviceChoice {
  bool cpu = true;
  bool gpu = true;
  bool gpu_requested = false;  // the user asked for a GPU, so report if there is none
  int number = 0;              // CUDA's number of the GPU
};
// Parses "auto" (the CPU, and the first GPU if it can be used), "cpu", "gpu" (the first GPU) and
// "gpu1" (the second GPU). Throws BadInput for anything else; the message begins with `flag`.
DeviceChoice ParseDevice(const std::string& text, const std::string& flag);

struct OpenedModule {
  const GpuModule* module = nullptr;  // never closed; null if `reason` is set
  std::optional<Reason> reason;       // why the module could not be opened, with a remedy
};
// Opens the module `file`, and CUDA's libraries that it needs, where CudaFolders has them. Never
// throws.
OpenedModule OpenGpuModule(const std::filesystem::path& file);

struct GpuAccess {
  const GpuModule* module = nullptr;  // null if no module was opened
  GpuDevice device;                   // the chosen GPU
  std::optional<Reason> reason;       // why that GPU cannot be used
};

// Returns the path of libdlroof_cuda.so: beside the running program, or else in its installation
// (counters/base/installation.h). The file may not exist.
std::filesystem::path GpuModuleFile();

// Opens the module and chooses a device. `driver` is the name or path of the GPU driver's library.
// If dlopen cannot open it, the module is not opened, because loading CUDA's libraries takes half a
// second. Throws BadInput, beginning with `flag`, if the chosen GPU does not exist but others do.
GpuAccess AccessGpu(const DeviceChoice& choice, const std::string& flag,
                    const std::filesystem::path& module = GpuModuleFile(),
                    const std::string& driver = "libcuda.so.1");

// Adds the module's functions to the program's backends, and registers its counter sources and
// libraries. If the module has no backends, cuDNN's benchmarks are recorded as unsupported, with
// the module's reason.
void RegisterGpu(const GpuAccess& access);

// Returns the ceilings of the device in `access`: from a file, from the cache, or measured now, as
// CachedOrMeasured. Returns nothing, and writes a sentence to `log`, if the module cannot measure
// ceilings. Throws std::invalid_argument if the device cannot be used.
std::optional<machine::Machine> CachedOrMeasuredGpu(const GpuAccess& access,
                                                    const machine_file::MachineOptions& options,
                                                    std::ostream& log);

}  // namespace dlroof::gpu_loader
