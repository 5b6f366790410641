#include "counters/cuda/device.h"

#include <array>

#include "counters/cuda/support.h"

namespace dlroof::cuda {

gpu::CudaState ReadCudaState() {
  gpu::CudaState state;
  int count = 0;
  const auto error = cudaGetDeviceCount(&count);
  state.error = error;
  state.error_name = cudaGetErrorName(error);
  state.error_text = cudaGetErrorString(error);
  cudaGetLastError();  // it would be reported again by the next call
  cudaDriverGetVersion(&state.driver_version);
  cudaRuntimeGetVersion(&state.runtime_version);
  if (error != cudaSuccess) return state;
  for (int device = 0; device < count; ++device) {
    const auto identity = ReadGpuIdentity(device);
    state.gpus.push_back({identity.name, identity.major, identity.minor});
  }
  return state;
}

gpu::GpuIdentity ReadGpuIdentity(int device) {
  cudaDeviceProp properties;
  CheckCuda(cudaGetDeviceProperties(&properties, device), "the GPU's properties");
  return {.name = properties.name,
          .major = properties.major,
          .minor = properties.minor,
          .sms = properties.multiProcessorCount,
          .memory_bytes = static_cast<double>(properties.totalGlobalMem),
          .l2_bytes = static_cast<double>(properties.l2CacheSize),
          .shared_bytes_per_sm = static_cast<double>(properties.sharedMemPerMultiprocessor),
          .memory_bus_bits = properties.memoryBusWidth,
          .ecc = properties.ECCEnabled != 0,
          .integrated = properties.integrated != 0};
}

std::optional<double> DefaultClockHz(int device) {
  int kilohertz = 0;
  CheckCuda(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device),
            "an attribute of the GPU");
  if (kilohertz <= 0) return std::nullopt;
  return 1e3 * kilohertz;
}

std::string PciBusId(int device) {
  std::array<char, 32> text{};
  CheckCuda(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device),
            "the GPU's PCI address");
  return text.data();
}

}  // namespace dlroof::cuda
