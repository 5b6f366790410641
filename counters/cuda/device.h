// The GPUs as the CUDA runtime describes them. Part of the CUDA module only.
//
// CUDA's memory and errors as C++ has them. Part of the CUDA module only.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <optional>
#include <string>

#include "counters/gpu/driver.h"

namespace dlroof::cuda {

gpu::CudaState ReadCudaState();

// All of these throw std::runtime_error with CUDA's words.
gpu::GpuIdentity ReadGpuIdentity(int device);
// [1/s] that the SMs run at by default; absent where CUDA does not say.
std::optional<double> DefaultClockHz(int device);
// "0000:3B:00.0", by which NVML knows it.
std::string PciBusId(int device);

// Throws std::runtime_error "what: cudaErrorName: CUDA's own words", and CUDA forgets it.
void CheckCuda(cudaError_t status, const std::string& what);

// After something failed: forgets what CUDA kept of it. Throws a failure that stays, which every
// later call would say again.
void RequireWorkingGpu();

// Device memory of at least one byte. Throws std::runtime_error naming the bytes when there are not
// as many.
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
  // All bytes, after everything that the GPU was asked for before, finished when they return:
  // copies and fills are on CUDA's default stream, for which a CudaStream does not wait.
  void CopyFrom(const void* host);
  void CopyFrom(const DeviceBuffer& other);  // of as many bytes
  void CopyTo(void* host) const;
  void Fill(int byte);

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

// A stream that has nothing to do with CUDA's default one: what a library puts there by itself
// neither waits for the calls that are timed nor breaks their capture into a graph.
class CudaStream {
 public:
  CudaStream();
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  cudaStream_t get() const { return stream_; }
  void Wait() const;  // until all its work is done; throws what a kernel did wrong

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace dlroof::cuda
