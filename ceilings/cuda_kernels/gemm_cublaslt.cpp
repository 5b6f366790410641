#include "ceilings/cuda_kernels/gemm_cublaslt.h"

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>

#include "counters/base/error.h"

namespace dlroof::cuda_kernels {
namespace {

constexpr std::size_t kWorkspaceBytes = 64U << 20;
constexpr int kAlgorithms = 8;

struct Types {
  cudaDataType_t operand, result, scale;
  cublasComputeType_t compute;
};

// In the order of GpuElement.
constexpr Types kTypes[] = {
    {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F},
    {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32},
    {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    {CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I},
    {CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F},
};

const Types& TypesOf(gpu_ceilings::GpuElement element) {
  return kTypes[static_cast<std::size_t>(element)];
}

void CheckBlas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(fmt::format("{}: {}", what, cublasLtGetStatusString(status)));
}

cublasLtHandle_t NewLibrary() {
  cublasLtHandle_t handle = nullptr;
  CheckBlas(cublasLtCreate(&handle), "cublasLt");
  return handle;
}

cublasLtMatrixLayout_t NewLayout(cudaDataType_t type, int n) {
  cublasLtMatrixLayout_t layout = nullptr;
  const auto size = static_cast<std::uint64_t>(n);
  CheckBlas(cublasLtMatrixLayoutCreate(&layout, type, size, size, n), "a matrix");
  return layout;
}

std::vector<cublasLtMatmulHeuristicResult_t> Algorithms(cublasLtHandle_t library,
                                                        cublasLtMatmulDesc_t product,
                                                        cublasLtMatrixLayout_t operands,
                                                        cublasLtMatrixLayout_t result) {
  cublasLtMatmulPreference_t made = nullptr;
  CheckBlas(cublasLtMatmulPreferenceCreate(&made), "a preference");
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                        decltype(&cublasLtMatmulPreferenceDestroy)>
      preference(made, cublasLtMatmulPreferenceDestroy);
  CheckBlas(cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                 &kWorkspaceBytes, sizeof kWorkspaceBytes),
            "a preference");
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms(kAlgorithms);
  int found = 0;
  const auto status =
      cublasLtMatmulAlgoGetHeuristic(library, product, operands, operands, result, result, made,
                                     kAlgorithms, algorithms.data(), &found);
  if (status != CUBLAS_STATUS_SUCCESS || found == 0)
    throw Unsupported("cublasLt has no algorithm for this type on this GPU ({})",
                      cublasLtGetStatusString(status));
  algorithms.resize(static_cast<std::size_t>(found));
  return algorithms;
}

// alpha = 1 and beta = 0 in each type that cublasLt reads.
struct Scales {
  double fp64[2] = {1, 0};
  float fp32[2] = {1, 0};
  std::int32_t int32[2] = {1, 0};

  const void* Of(gpu_ceilings::GpuElement element, int which) const {
    if (element == gpu_ceilings::GpuElement::kFp64) return fp64 + which;
    if (element == gpu_ceilings::GpuElement::kInt8) return int32 + which;
    return fp32 + which;
  }
};

}  // namespace

ProductDescriptor DescribeProduct(gpu_ceilings::GpuElement element) {
  const Types& types = TypesOf(element);
  cublasLtMatmulDesc_t made = nullptr;
  CheckBlas(cublasLtMatmulDescCreate(&made, types.compute, types.scale), "a product");
  ProductDescriptor product(made, cublasLtMatmulDescDestroy);
  // A transposed, B not transposed: the only layout that supports every type.
  const cublasOperation_t transposed = CUBLAS_OP_T;
  CheckBlas(cublasLtMatmulDescSetAttribute(product.get(), CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                           sizeof transposed),
            "a transposed operand");
  if (element == gpu_ceilings::GpuElement::kFp8) {
    // Without this attribute cublasLt moves the sums to wider registers every few instructions.
    const std::int8_t fast = 1;
    CheckBlas(cublasLtMatmulDescSetAttribute(product.get(), CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast,
                                             sizeof fast),
              "fast sums");
  }
  return product;
}

GpuGemm::GpuGemm(gpu_ceilings::GpuElement element, int n)
    : library_(NewLibrary(), cublasLtDestroy),
      product_(DescribeProduct(element)),
      operands_(NewLayout(TypesOf(element).operand, n), cublasLtMatrixLayoutDestroy),
      result_(NewLayout(TypesOf(element).result, n), cublasLtMatrixLayoutDestroy),
      algorithms_(Algorithms(library_.get(), product_.get(), operands_.get(), result_.get())),
      workspace_(kWorkspaceBytes),
      element_(element) {}

void GpuGemm::Run(const void* a, const void* b, void* d, cudaStream_t stream) {
  static const Scales kScales;
  CheckBlas(
      cublasLtMatmul(library_.get(), product_.get(), kScales.Of(element_, 0), a, operands_.get(), b,
                     operands_.get(), kScales.Of(element_, 1), d, result_.get(), d, result_.get(),
                     &algorithms_[static_cast<std::size_t>(chosen_)].algo, workspace_.get(),
                     kWorkspaceBytes, stream),
      "cublasLt's product");
}

}  // namespace dlroof::cuda_kernels
