#include "counters/cuda/device.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "counters/base/error.h"

namespace dlroof::cuda {

gpu::CudaState ReadCudaState() {
  gpu::CudaState state;
  int count = 0;
  const auto error = cudaGetDeviceCount(&count);
  state.error = error;
  state.error_name = cudaGetErrorName(error);
  state.error_text = cudaGetErrorString(error);
  cudaGetLastError();  // clears the error, which the next call would report again
  cudaDriverGetVersion(&state.driver_version);
  cudaRuntimeGetVersion(&state.runtime_version);
  if (error != cudaSuccess) return state;
  for (int device = 0; device < count; ++device) state.gpus.push_back(ReadGpuIdentity(device));
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

int ComputeCapability() {
  int device = 0, major = 0, minor = 0;
  CheckCuda(cudaGetDevice(&device), "the current GPU");
  for (const auto& [attribute, value] : {std::pair(cudaDevAttrComputeCapabilityMajor, &major),
                                         {cudaDevAttrComputeCapabilityMinor, &minor}})
    CheckCuda(cudaDeviceGetAttribute(value, attribute, device), "the GPU's compute capability");
  return 10 * major + minor;
}

std::string PciBusId(int device) {
  std::array<char, 32> text{};
  CheckCuda(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), device),
            "the GPU's PCI address");
  return text.data();
}

void CheckCuda(cudaError_t status, const std::string& what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error, which the next launch would report again
  throw std::runtime_error(
      fmt::format("{}: {}: {}", what, cudaGetErrorName(status), cudaGetErrorString(status)));
}

void RequireWorkingGpu() {
  cudaGetLastError();
  CheckCuda(cudaDeviceSynchronize(), "the GPU after a failure");
}

int64_t FreeDeviceBytes() {
  size_t free = 0, total = 0;
  CheckCuda(cudaMemGetInfo(&free, &total), "the GPU's free memory");
  return static_cast<int64_t>(free);
}

void RequireDeviceMemory(double bytes, std::string_view what) {
  const auto free = static_cast<double>(FreeDeviceBytes());
  if (bytes > free)
    throw Unsupported("{} needs {:.3g} GB of GPU memory, but only {:.3g} GB are free", what,
                      bytes / 1e9, free / 1e9);
}

DeviceBuffer::DeviceBuffer(size_t bytes) : bytes_(bytes) {
  void* data = nullptr;
  CheckCuda(cudaMalloc(&data, bytes), fmt::format("{} bytes of GPU memory", bytes));
  data_.reset(data);
}

void DeviceBuffer::CopyFrom(const void* host) {
  CheckCuda(cudaMemcpy(get(), host, bytes_, cudaMemcpyHostToDevice), "copy to the GPU");
  CheckCuda(cudaDeviceSynchronize(), "copy to the GPU");
}

void DeviceBuffer::CopyFrom(const DeviceBuffer& other) {
  if (other.bytes_ != bytes_) throw std::logic_error("copy between GPU buffers of different sizes");
  CheckCuda(cudaMemcpy(get(), other.get(), bytes_, cudaMemcpyDeviceToDevice), "copy on the GPU");
  CheckCuda(cudaDeviceSynchronize(), "copy on the GPU");
}

void DeviceBuffer::CopyTo(void* host) const {
  CheckCuda(cudaDeviceSynchronize(), "copy from the GPU");
  CheckCuda(cudaMemcpy(host, get(), bytes_, cudaMemcpyDeviceToHost), "copy from the GPU");
}

void DeviceBuffer::Fill(int byte) {
  CheckCuda(cudaMemset(get(), byte, bytes_), "fill of GPU memory");
  CheckCuda(cudaDeviceSynchronize(), "fill of GPU memory");
}

CudaStream::CudaStream() {
  cudaStream_t stream = nullptr;
  CheckCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a CUDA stream");
  stream_.reset(stream);
}

void CudaStream::Wait() const { CheckCuda(cudaStreamSynchronize(get()), "work on the GPU"); }

}  // namespace dlroof::cuda
