// Opens the CUDA module, or says why no GPU can be used; caches a GPU's ceilings. Needs no CUDA.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "bench/gpu_loader/module.h"
#include "ceilings/machine_file/machine_cache.h"
#include "counters/cpu/process_limits.h"

namespace dlroof::gpu_loader {

// The devices whose benchmarks a run includes.
struct DeviceChoice {
  bool cpu = true;
  bool gpu = true;
  bool gpu_requested = false;  // the user requested it: report if it cannot be used
  int number = 0;              // CUDA's number of the GPU
};
// Parses "auto" (the CPU, and the first GPU if usable), "cpu", "gpu" (the first GPU), "gpu1" (the
// second) and so on. Throws BadInput, beginning with `flag`, for other text.
DeviceChoice ParseDevice(const std::string& text, const std::string& flag);

struct OpenedModule {
  const GpuModule* module = nullptr;  // never closed; null if `reason` is set
  std::optional<Reason> reason;       // why it could not be opened, with a remedy
};
// Opens the module `file` and its CUDA libraries, from CudaFolders if necessary. Never throws.
OpenedModule OpenGpuModule(const std::filesystem::path& file);

struct GpuAccess {
  const GpuModule* module = nullptr;  // null if no module was opened
  GpuDevice device;                   // the chosen GPU
  std::optional<Reason> reason;       // why the GPU cannot be used, with a remedy
};

// Returns the path of libdlroof_cuda.so: beside the running program, otherwise in its installation
// (counters/base/program.h). The file may not exist.
std::filesystem::path GpuModuleFile();

// Opens the module and chooses a GPU. `driver`: name or path of the GPU driver's library; if dlopen
// cannot open it, the module is not opened, because loading CUDA takes half a second. Throws
// BadInput, beginning with `flag`, if the chosen GPU does not exist but others do.
GpuAccess AccessGpu(const DeviceChoice& choice, const std::string& flag,
                    const std::filesystem::path& module = GpuModuleFile(),
                    const std::string& driver = "libcuda.so.1");

// Registers the module's backends, counter sources and libraries. If the GPU cannot be used or the
// module has no backends, GPU benchmarks are recorded as unsupported with the reason.
void RegisterGpu(const GpuAccess& access);

// Returns the GPU's ceilings: from a file, from the cache, or measured now (as CachedOrMeasured).
// Returns nullopt and writes a sentence to `log` if the module cannot measure ceilings. Throws
// std::invalid_argument if the GPU cannot be used.
std::optional<machine::Machine> CachedOrMeasuredGpu(const GpuAccess& access,
                                                    const machine_file::MachineOptions& options,
                                                    std::ostream& log);

// The rest of this file opens a library that needs CUDA libraries outside of the dynamic linker's
// search path: in a toolkit's folder, or in Python wheels from PyPI.

// Returns the existing folders that may have CUDA's and cuDNN's libraries, in order: toolkits named
// by CUDA_PATH and CUDA_HOME; wheels of the virtual environment VIRTUAL_ENV; wheels beside the
// module (pip install --target); wheels of the module's own environment (lib/dlroof), activated or
// not; the user's wheels (below HOME); /usr/local/cuda. `root` is "/" except in tests.
std::vector<std::filesystem::path> CudaFolders(
    const std::filesystem::path& module_folder,
    const cpu::Environment& environment = cpu::ProcessEnvironment(),
    const std::filesystem::path& root = "/");

// A library opened by dlopen, or dlopen's error message.
struct OpenedLibrary {
  void* handle = nullptr;
  std::string error;
};
// Opens a library. While the dynamic linker misses a library that this one needs, opens the missing
// one from the first of `folders` that has it, and tries again. Libraries stay open.
OpenedLibrary OpenWithLibrariesOf(const std::filesystem::path& file,
                                  const std::vector<std::filesystem::path>& folders);

}  // namespace dlroof::gpu_loader
