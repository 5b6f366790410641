// The GPUs that CUDA sees, owners of GPU memory and streams, and the GpuClock (CUDA events, NVML).
// In the CUDA library only. Functions throw std::runtime_error with CUDA's message if CUDA fails.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "counters/gpu/api.h"

namespace dlroof::cuda {

gpu::CudaState ReadCudaState();

gpu::GpuIdentity ReadGpuIdentity(int device);
// Returns the default clock [1/s] of the SMs, or nullopt if CUDA does not report it.
std::optional<double> DefaultClockHz(int device);
int ComputeCapability();  // of the current GPU: 90 for 9.0
// Returns the device's PCI address, e.g. "0000:3B:00.0", by which NVML finds the device too.
std::string PciBusId(int device);

// Throws "WHAT: cudaErrorName: CUDA's message" unless `status` is success, and clears CUDA's error.
void CheckCuda(cudaError_t status, const std::string& what);

// Clears CUDA's error. Throws if the error cannot be cleared (a sticky error).
void RequireWorkingGpu();

int64_t FreeDeviceBytes();  // [byte] of the current GPU
// Throws Unsupported, naming `what` and both sizes, if `bytes` exceeds the free GPU memory.
void RequireDeviceMemory(double bytes, std::string_view what);

// Owns GPU memory.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(size_t bytes);

  void* get() const { return data_.get(); }
  size_t bytes() const { return bytes_; }
  // These functions copy or set all bytes on CUDA's default stream and wait until the GPU is idle,
  // because a CudaStream does not wait for the default stream.
  void CopyFrom(const void* host);
  void CopyFrom(const DeviceBuffer& other);  // `other` has the same size
  void CopyTo(void* host) const;
  void Fill(int byte);

 private:
  struct Free {
    void operator()(void* data) const { cudaFree(data); }
  };
  std::unique_ptr<void, Free> data_;
  size_t bytes_ = 0;
};

// A stream that does not synchronize implicitly with CUDA's default stream. If a library uses the
// default stream, its work does not delay the timed calls or break their capture into a graph.
class CudaStream {
 public:
  CudaStream();
  cudaStream_t get() const { return stream_.get(); }
  void Wait() const;  // waits until the stream is idle; throws if a kernel failed

 private:
  std::unique_ptr<CUstream_st, decltype(&cudaStreamDestroy)> stream_{nullptr, cudaStreamDestroy};
};

// Returns the clock of `device`, which becomes this thread's current device; use the clock in this
// thread only. It owns GPU memory of twice the size of L2.
std::unique_ptr<gpu::GpuClock> OpenCudaClock(int device);

}  // namespace dlroof::cuda
