// The programs' side of the CUDA module: opens it, or says in one sentence why there is no GPU and
// what to do about it. No CUDA header, no CUDA library.
//
// A GPU's ceilings: kept and found again as a CPU's are.
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
  bool gpu_asked = false;  // by name: that there is none is said
  int number = 0;          // CUDA's
};
// "auto" (CPU, and the first GPU where one can be used), "cpu", "gpu" (the first), "gpu1" (the
// second). Throws BadInput for anything else; `flag` begins the message.
DeviceChoice ParseDevice(const std::string& text, const std::string& flag);

struct OpenedModule {
  const GpuModule* module = nullptr;  // lives until the program ends
  std::string why_not;                // empty: it is open
};
// Never throws. `file` is opened where it is.
OpenedModule OpenGpuModule(const std::filesystem::path& file);

// Returns dlopen's message as a sentence with its cure.
std::string SentenceForDlopen(const std::string& said, const std::filesystem::path& file);

struct GpuAccess {
  const GpuModule* module = nullptr;  // null where there is none, or where it was not worth opening
  GpuDevice device;                   // that was chosen
  std::string why_not;                // empty: the device can be used
};

// libdlroof_cuda.so beside the running program.
std::filesystem::path ModuleBesideProgram();

// Without the driver's library, a name or path for dlopen, the module, which takes CUDA's libraries
// half a second to load, is not even opened. Throws BadInput for a GPU that is not there while
// others are (`flag` begins the message).
GpuAccess AccessGpu(const DeviceChoice& choice, const std::string& flag,
                    const std::filesystem::path& module = ModuleBesideProgram(),
                    const std::string& driver = "libcuda.so.1");

// Completes the program's cells with the module's, and adds its sources and libraries. Without
// cells cuDNN's benchmarks are recorded as unsupported with the reason.
void RegisterGpu(const GpuAccess& access);

// The ceilings of the device that `access` found, as CachedOrMeasured gets them: from a file, the
// cache, or measured now. Absent, with a sentence in `log`, in a build whose module measures none.
// Throws std::invalid_argument when no device can be used.
std::optional<machine::Machine> CachedOrMeasuredGpu(const GpuAccess& access,
                                                    const machine_file::MachineOptions& options,
                                                    std::ostream& log);

}  // namespace dlroof::gpu_loader
