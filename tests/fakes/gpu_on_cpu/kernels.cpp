// The sources of kernels that need no instruction of a GPU's, as C++. Before this project's folders
// the compiler looks into gpu_on_cpu, and before that, for a broken kernel, into a folder that has
// the broken file.
#include "tests/fakes/gpu_on_cpu/kernels.h"

#include <cstring>

#include "ceilings/cuda_kernels/chain_kernels.cu"
#include "ceilings/cuda_kernels/chain_kernels_80.cu"
#include "ceilings/cuda_kernels/memory_kernels.cu"
#include "counters/cuda/clock_kernels.cu"

namespace dlroof::fakes {
namespace {

struct KernelOfRow {
  const char* key;
  cuda_kernels::GpuKernel* launch;
};
constexpr KernelOfRow kKernels[] = {
    {"fp64.vector.dfma", cuda_kernels::LaunchDfma},
    {"fp32.vector.ffma", cuda_kernels::LaunchFfma},
    {"fp16.vector.hfma2", cuda_kernels::LaunchHfma2},
    {"bf16.vector.hfma2", cuda_kernels::LaunchBf16Hfma2},
    {"int8.vector.dp4a", cuda_kernels::LaunchDp4a},
    {"dram.load.v16", cuda_kernels::LaunchDramLoad},
    {"dram.store.v16", cuda_kernels::LaunchStore},
    {"dram.copy.v16", cuda_kernels::LaunchCopy},
    {"dram.triad.v16", cuda_kernels::LaunchTriad},
    {"l2.load.cg16", cuda_kernels::LaunchL2Load},
    {"l2.store.v16", cuda_kernels::LaunchStore},
    {"l1.load.ca16", cuda_kernels::LaunchL1Load},
    {"l1.shared.v16", cuda_kernels::LaunchShared},
};

bool Run(const char* key, const LaunchOnCpu& launch) {
  for (const auto& kernel : kKernels)
    if (std::strcmp(kernel.key, key) == 0)
      return kernel.launch({launch.blocks, launch.threads, launch.iterations, launch.operands,
                            launch.results, launch.set_bytes}) == cudaSuccess;
  return false;
}

void Stamps(gpu::SmStamp* stamps, int count, int blocks, int sm_count) {
  cuda::sms = static_cast<unsigned>(sm_count);
  cuda::LaunchStamps(stamps, count, blocks, nullptr);
}

unsigned long long Held(int released, unsigned long long most_nanoseconds, int* gave_up) {
  const auto begin = nanoseconds_now;
  cuda::LaunchHold(&released, gave_up, most_nanoseconds, nullptr);
  return nanoseconds_now - begin;
}

void Read(const void* begin, std::size_t bytes, int blocks, unsigned char* reads) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  counted_from = reinterpret_cast<const uint4*>((address + 15) / 16 * 16);
  counts = reads;
  unsigned sink = 0;
  cuda::LaunchRead(begin, bytes, &sink, blocks, nullptr);
  counts = nullptr;
}

}  // namespace
}  // namespace dlroof::fakes

extern "C" dlroof::fakes::KernelsOnCpu GpuKernelsOnCpu() {
  using namespace dlroof::fakes;
  return {Run, Stamps, Held, Read};
}
