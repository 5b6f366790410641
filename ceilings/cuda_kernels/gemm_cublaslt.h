// Matrix multiplication (GEMM) by cublasLt. Part of the CUDA module only.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <vector>

#include "ceilings/gpu_ceilings/rows.h"
#include "counters/cuda/device.h"

namespace dlroof::cuda_kernels {

using ProductDescriptor =
    std::unique_ptr<cublasLtMatmulDescOpaque_t, cublasStatus_t (*)(cublasLtMatmulDesc_t)>;

// Returns cublasLt's description of a product of this type. For fp8 sets
// CUBLASLT_MATMUL_DESC_FAST_ACCUM (sums in narrow registers), for which cublasLt has no algorithms
// of other types. Needs no GPU. Throws std::runtime_error with cublasLt's message.
ProductDescriptor DescribeProduct(gpu_ceilings::GpuElement element);

// D = A^T B of n x n matrices, without scaling or addition. A and B are stored as n rows of k, D by
// columns (ceilings/gpu_ceilings/bench.h).
class GpuGemm {
 public:
  // Throws Unsupported with cublasLt's message if there is no algorithm for the type on this GPU.
  GpuGemm(gpu_ceilings::GpuElement element, int n);
  // Returns the number of algorithms that cublasLt's heuristic proposes, the best first. Choose
  // selects by index the algorithm that Run uses.
  int algorithms() const { return static_cast<int>(algorithms_.size()); }
  void Choose(int algorithm) { chosen_ = algorithm; }
  void Run(const void* a, const void* b, void* d, cudaStream_t stream);

 private:
  template <class T>
  using Handle = std::unique_ptr<T, cublasStatus_t (*)(T*)>;

  Handle<cublasLtContext> library_;
  ProductDescriptor product_;
  Handle<cublasLtMatrixLayoutOpaque_t> operands_, result_;
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms_;
  cuda::DeviceBuffer workspace_;
  gpu_ceilings::GpuElement element_;
  int chosen_ = 0;
};

}  // namespace dlroof::cuda_kernels
