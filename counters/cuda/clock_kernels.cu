#include <cstdint>

#include "counters/cuda/clock_access.cuh"
#include "counters/cuda/clock_kernels.h"
#include "counters/cuda/launch.cuh"

namespace dlroof::cuda {
namespace {

__global__ void WriteStamps(gpu::SmStamp* stamps, int count) {
  const unsigned sm = SmNumber();
  if (sm >= static_cast<unsigned>(count)) return;
  const unsigned long long nanoseconds = Nanoseconds();
  stamps[sm].cycles = static_cast<unsigned long long>(clock64());
  stamps[sm].nanoseconds = nanoseconds;
}

__global__ void Hold(const volatile int* released, int* gave_up,
                     unsigned long long most_nanoseconds) {
  const unsigned long long begin = Nanoseconds();
  while (*released == 0 && Nanoseconds() - begin < most_nanoseconds) __nanosleep(200);
  *gave_up = *released == 0 ? 1 : 0;
}

__global__ void ReadAll(const uint4* words, std::size_t count, unsigned* sink) {
  unsigned sum = 0;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const uint4 word = __ldcg(words + i);
    sum += word.x ^ word.y ^ word.z ^ word.w;
  }
  if (sum == 0x5ca1ab1e) *sink = sum;
}

__global__ void Empty() {}

}  // namespace

cudaError_t LaunchStamps(gpu::SmStamp* stamps, int count, int blocks, cudaStream_t stream) {
  return Launch(WriteStamps, {blocks, 1, stream}, stamps, count);
}

cudaError_t LaunchHold(const volatile int* released, int* gave_up,
                       unsigned long long most_nanoseconds, cudaStream_t stream) {
  return Launch(Hold, {1, 1, stream}, released, gave_up, most_nanoseconds);
}

cudaError_t LaunchEmpty(cudaStream_t stream) { return Launch(Empty, {1, 32, stream}); }

cudaError_t LaunchRead(const void* begin, std::size_t bytes, unsigned* sink, int blocks,
                       cudaStream_t stream) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const auto first = (address + 15) / 16 * 16;
  if (address + bytes < first + 16) return cudaSuccess;
  return Launch(ReadAll, {blocks, 256, stream}, reinterpret_cast<const uint4*>(first),
                (address + bytes - first) / 16, sink);
}

}  // namespace dlroof::cuda
