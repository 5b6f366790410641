// CUDA's memory and errors as C++ has them. Part of the CUDA module only.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

namespace dlroof {

// Throws std::runtime_error "what: cudaErrorName: CUDA's own words".
void CheckCuda(cudaError_t status, const std::string& what);

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
  void CopyFrom(const void* host);  // all bytes, finished when it returns
  void CopyTo(void* host) const;    // all bytes, finished when it returns
  void Fill(int byte);              // every byte, finished when it returns

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

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

}  // namespace dlroof
