// The programs' side of the CUDA module: opens it, or explains in one sentence why no GPU can be
// used and what to do about it, and caches a GPU's ceilings. Needs no CUDA header or library.
#pragma once

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>

#include "bench/gpu_loader/module.h"
#include "ceilings/machine_file/machine_cache.h"

namespace dlroof::gpu_loader {

// Devices whose benchmarks a run has.
struct DeviceChoice {
  bool cpu = true;
  bool gpu = true;
  bool gpu_requested =
      false;       // the user asked for a GPU by name, so that a missing one is reported
  int number = 0;  // CUDA's
};
// Parses "auto" (the CPU, and the first GPU if one can be used), "cpu", "gpu" (the first GPU) and
// "gpu1" (the second). Throws BadInput for anything else; `flag` begins the message.
DeviceChoice ParseDevice(const std::string& text, const std::string& flag);

struct OpenedModule {
  const GpuModule* module = nullptr;  // lives until the program ends; null if there is a reason
  std::optional<Reason> reason;       // why the module could not be opened, with a remedy
};
// Opens the module `file`. Never throws.
OpenedModule OpenGpuModule(const std::filesystem::path& file);

// Returns dlopen's error message as a sentence with a remedy.
std::string DlopenSentence(const std::string& error, const std::filesystem::path& file);

struct GpuAccess {
  const GpuModule* module = nullptr;  // null if the module was not opened
  GpuDevice device;                   // the chosen one
  std::optional<Reason> reason;       // why the device cannot be used
};

// Returns the path of libdlroof_cuda.so beside the running program.
std::filesystem::path ModuleBesideProgram();

// Opens the module and chooses a device. `driver` is the driver's library, a name or path for
// dlopen. Without it the module is not opened, because loading CUDA's libraries takes half a
// second. Throws BadInput, beginning with `flag`, if the chosen GPU does not exist but others do.
GpuAccess AccessGpu(const DeviceChoice& choice, const std::string& flag,
                    const std::filesystem::path& module = ModuleBesideProgram(),
                    const std::string& driver = "libcuda.so.1");

// Completes the program's backends with the module's, and registers its counter sources and
// libraries. If the module has no backends, cuDNN's benchmarks are recorded as unsupported with its
// reason.
void RegisterGpu(const GpuAccess& access);

// Returns the ceilings of the device in `access` as CachedOrMeasured does: from a file, from the
// cache, or measured now. Returns nothing, and writes a sentence to `log`, if the module cannot
// measure ceilings. Throws std::invalid_argument if the device cannot be used.
std::optional<machine::Machine> CachedOrMeasuredGpu(const GpuAccess& access,
                                                    const machine_file::MachineOptions& options,
                                                    std::ostream& log);

}  // namespace dlroof::gpu_loader
