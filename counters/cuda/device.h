// The GPUs as the CUDA runtime describes them, and RAII for CUDA's memory, streams and errors. Part
// of the CUDA module only. All functions throw std::runtime_error with CUDA's message.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>
#include <string>

#include "counters/gpu/driver.h"

namespace dlroof::cuda {

gpu::CudaState ReadCudaState();

gpu::GpuIdentity ReadGpuIdentity(int device);
// [1/s] Default clock of the SMs, if CUDA reports it.
std::optional<double> DefaultClockHz(int device);
// Returns the address "0000:3B:00.0", which NVML uses too.
std::string PciBusId(int device);

// Throws "WHAT: cudaErrorName: CUDA's message" unless `status` is success, and clears CUDA's error.
void CheckCuda(cudaError_t status, const std::string& what);

// Clears CUDA's error after a failure. Throws if the error is sticky.
void RequireWorkingGpu();

// Device memory of at least one byte.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  void* get() const { return data_; }
  size_t bytes() const { return bytes_; }
  // These copy or fill all bytes on CUDA's default stream and wait until the GPU is idle, as a
  // CudaStream does not wait for the default stream.
  void CopyFrom(const void* host);
  void CopyFrom(const DeviceBuffer& other);  // of the same size
  void CopyTo(void* host) const;
  void Fill(int byte);

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// A stream without implicit synchronization with CUDA's default stream: work that a library puts on
// the default stream neither waits for the timed calls nor breaks their capture into a graph.
class CudaStream {
 public:
  CudaStream();
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  cudaStream_t get() const { return stream_; }
  void Wait() const;  // until all its work is done; throws if a kernel failed

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace dlroof::cuda
