// Products of large matrices by cublasLt. Part of the CUDA module only.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <vector>

#include "ceilings/gpu_kernels/rows.h"
#include "counters/cuda/device.h"

namespace dlroof::cuda_kernels {

// D = A^T B, n x n x n, one scale, no addition. A and B hold rows of k (gpu_known/known.h), D
// columns.
class GpuGemm {
 public:
  // Throws Unsupported with cublasLt's words where it has no algorithm for the type on this GPU.
  GpuGemm(gpu_kernels::GpuElement element, int n);
  // The heuristic's algorithms, best first; Run takes the one chosen.
  int algorithms() const { return static_cast<int>(algorithms_.size()); }
  void Choose(int algorithm) { chosen_ = algorithm; }
  void Run(const void* a, const void* b, void* d, cudaStream_t stream);

 private:
  template <class T>
  using Handle = std::unique_ptr<T, cublasStatus_t (*)(T*)>;

  Handle<cublasLtContext> library_;
  Handle<cublasLtMatmulDescOpaque_t> product_;
  Handle<cublasLtMatrixLayoutOpaque_t> operands_, result_;
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms_;
  cuda::DeviceBuffer workspace_;
  gpu_kernels::GpuElement element_;
  int chosen_ = 0;
};

}  // namespace dlroof::cuda_kernels
