#include "counters/gpu/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dlroof::gpu {
namespace {

// Values of cudaError_t, stable since CUDA 10.1.
enum CudaError {
  kStubLibrary = 34,
  kInsufficientDriver = 35,
  kDevicesUnavailable = 46,
  kNoDevice = 100,
  kSystemNotReady = 802,
  kSystemDriverMismatch = 803,
  kCompatNotSupported = 804,
};

struct Cure {
  int error;
  std::string_view sentence;
};
constexpr std::array<Cure, 6> kCures = {{
    {kStubLibrary,
     "the libcuda.so.1 that was found is the toolkit's stub, not the driver's: take the folder "
     "'stubs' out of LD_LIBRARY_PATH"},
    {kNoDevice,
     "the NVIDIA driver sees no GPU: nvidia-smi should list one; CUDA_VISIBLE_DEVICES may hide it, "
     "and a container needs --gpus all"},
    {kDevicesUnavailable,
     "every GPU is taken by another process in exclusive mode: wait for it, or ask who uses it "
     "(nvidia-smi)"},
    {kSystemNotReady,
     "the GPUs are not ready: machines with NVSwitch need the service nvidia-fabricmanager to run"},
    {kSystemDriverMismatch,
     "the driver's kernel module and its libraries are of different versions: reboot, or give the "
     "container the host's libraries"},
    {kCompatNotSupported,
     "the CUDA compatibility libraries do not serve this GPU: take them out of LD_LIBRARY_PATH, or "
     "update the driver"},
}};

std::string OldDriver(const CudaState& state) {
  if (state.driver_version == 0)
    return "no NVIDIA driver is loaded (libcuda.so.1 was not found): install it, or start the "
           "container with --gpus all";
  const int major = state.runtime_version / 1000;
  const auto least = major >= 13 ? "580" : "525";
  return fmt::format(
      "the NVIDIA driver is too old: it serves CUDA {} and this build needs CUDA {}: update it to "
      "{} or newer",
      CudaVersionText(state.driver_version), CudaVersionText(state.runtime_version), least);
}

}  // namespace

std::string CudaVersionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

bool IsUsable(const SeenGpu& gpu, const CudaState& state) {
  return gpu.major > state.least_major ||
         (gpu.major == state.least_major && gpu.minor >= state.least_minor);
}

std::string WhyNoDevice(const CudaState& state) {
  if (state.error == kInsufficientDriver) return OldDriver(state);
  for (const auto& cure : kCures)
    if (cure.error == state.error) return std::string(cure.sentence);
  if (state.error != 0)
    return fmt::format("CUDA cannot be used: {} ({}): the kernel's log (dmesg) may say more",
                       state.error_text, state.error_name);
  if (state.gpus.empty()) return WhyNoDevice({.error = kNoDevice});
  if (std::ranges::any_of(state.gpus, [&](const SeenGpu& gpu) { return IsUsable(gpu, state); }))
    return "";
  const auto& first = state.gpus.front();
  return fmt::format(
      "{} has compute capability {}.{}, and this build has kernels for {}.{} and newer: another "
      "GPU is needed",
      first.name, first.major, first.minor, state.least_major, state.least_minor);
}

}  // namespace dlroof::gpu
