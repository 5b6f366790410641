// Matmul/gpu/cublaslt: matrix products by cuBLASLt. Part of the CUDA module only.
#include <cublasLt.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>

#include "bench/matmul/case.h"
#include "bench/matmul/loops.h"
#include "bench/workload/library_rules.h"
#include "bench/workload/memory.h"
#include "counters/cuda/device.h"

namespace dlroof::matmul {
namespace {

constexpr size_t kWorkspaceBytes = size_t{64} << 20;
constexpr int kAlgorithms = 8;

void Check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(
        fmt::format("cublasLt: {}: {}", what, cublasLtGetStatusString(status)));
}

cudaDataType_t DataType(const std::string& type) {
  static const std::map<std::string, cudaDataType_t> types = {{"f32", CUDA_R_32F},
                                                              {"f16", CUDA_R_16F},
                                                              {"bf16", CUDA_R_16BF},
                                                              {"s8", CUDA_R_8I},
                                                              {"s32", CUDA_R_32I}};
  return types.at(type);
}

cublasComputeType_t ComputeTypeOf(const std::string& compute) {
  if (compute == "s32") return CUBLAS_COMPUTE_32I;
  return compute == "tf32" ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

template <class T>
using Owned = std::unique_ptr<T, cublasStatus_t (*)(T*)>;
using Library = Owned<cublasLtContext>;
using Product = Owned<cublasLtMatmulDescOpaque_t>;
using Layout = Owned<cublasLtMatrixLayoutOpaque_t>;

Library NewLibrary() {
  cublasLtHandle_t made = nullptr;
  Check(cublasLtCreate(&made), "the library");
  return {made, cublasLtDestroy};
}

template <class Value>
void Set(const Product& product, cublasLtMatmulDescAttributes_t name, const Value& value) {
  Check(cublasLtMatmulDescSetAttribute(product.get(), name, &value, sizeof value), "a product");
}

// Describes the matrix product to cuBLASLt. `bias` is null for a call without bias.
Product NewProduct(const MatmulCase& matmul, const ProductSpec& spec, const void* bias) {
  cublasLtMatmulDesc_t made = nullptr;
  const auto scale = spec.compute == "s32" ? CUDA_R_32I : CUDA_R_32F;
  Check(cublasLtMatmulDescCreate(&made, ComputeTypeOf(spec.compute), scale), "a product");
  Product product(made, cublasLtMatmulDescDestroy);
  const auto order = [](const MatrixSpec& matrix) {
    return matrix.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  Set(product, CUBLASLT_MATMUL_DESC_TRANSA, order(spec.first));
  Set(product, CUBLASLT_MATMUL_DESC_TRANSB, order(spec.second));
  const auto epilogue = matmul.bias
                            ? matmul.eltwise ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS
                        : matmul.eltwise ? CUBLASLT_EPILOGUE_RELU
                                         : CUBLASLT_EPILOGUE_DEFAULT;
  Set(product, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (matmul.bias) Set(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  return product;
}

Layout NewLayout(const MatrixSpec& spec, int64_t batch) {
  cublasLtMatrixLayout_t made = nullptr;
  Check(cublasLtMatrixLayoutCreate(&made, DataType(spec.type), static_cast<uint64_t>(spec.rows),
                                   static_cast<uint64_t>(spec.columns), spec.rows),
        "a matrix");
  Layout layout(made, cublasLtMatrixLayoutDestroy);
  const auto count = static_cast<int32_t>(batch);
  const int64_t stride = spec.rows * spec.columns;
  Check(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                         sizeof count),
        "a batch");
  Check(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                         sizeof stride),
        "a batch");
  return layout;
}

// The memory of one matrix or bias on the GPU.
struct DeviceTensor {
  std::string type;
  cuda::DeviceBuffer buffer;

  DeviceTensor(std::string_view type_, int64_t count)
      : type(type_), buffer(static_cast<size_t>(count * workload::ElementBytes(type_))) {}
  void Upload(const std::vector<float>& values) {
    buffer.CopyFrom(workload::Encoded(values, type).data());
  }
  std::vector<float> Download() const {
    std::vector<std::byte> bytes(buffer.bytes());
    buffer.CopyTo(bytes.data());
    return workload::Decoded(bytes, type);
  }
};

std::map<Matrix, DeviceTensor> FilledTensors(const MatmulCase& matmul,
                                             const workload::ProductInputs& inputs) {
  std::map<Matrix, DeviceTensor> tensors;
  const auto& p = matmul.problem;
  for (const auto& [matrix, count] :
       {std::pair{Matrix::kA, CountA(p)}, {Matrix::kB, CountB(p)}, {Matrix::kC, CountC(p)}}) {
    auto& tensor = tensors.try_emplace(matrix, TypeOf(matmul.types, matrix), count).first->second;
    if (matrix != ProductOf(matmul).result) tensor.Upload(MatrixOf(inputs, matrix));
  }
  return tensors;
}

class Call {
 public:
  Call(const MatmulCase& matmul, unsigned seed)
      : matmul_(matmul),
        seed_(seed),
        inputs_(workload::SeededInputs(matmul, seed)),
        spec_(ProductSpecOf(matmul)),
        tensors_(FilledTensors(matmul, inputs_)),
        bias_(workload::BiasType(matmul.types), matmul.bias ? matmul.problem.n : 1),
        workspace_(kWorkspaceBytes),
        library_(NewLibrary()),
        product_(NewProduct(matmul, spec_, bias_.buffer.get())),
        first_(NewLayout(spec_.first, spec_.batch)),
        second_(NewLayout(spec_.second, spec_.batch)),
        result_(NewLayout(spec_.result, spec_.batch)) {
    if (matmul.bias) bias_.Upload(inputs_.bias);
    Choose();
  }

  void Enqueue(void* stream) const {
    Check(Multiply(static_cast<cudaStream_t>(stream)), "the product");
  }
  void Run() const {
    Enqueue(stream_.get());
    stream_.Wait();
  }
  workload::Verification Verify() {
    constexpr int kNotANumber = 0xff;
    auto& result = tensors_.at(spec_.result.matrix);
    result.buffer.Fill(kNotANumber);
    Run();
    auto found = workload::CheckOutput(matmul_, inputs_,
                                       workload::ProductOutput<float>{result.Download()}, seed_);
    inputs_ = {};  // frees gigabytes that timed calls do not need
    return found;
  }
  std::string Algorithm() const {
    int id = 0;
    size_t written = 0;
    Check(cublasLtMatmulAlgoConfigGetAttribute(&chosen_.algo, CUBLASLT_ALGO_CONFIG_ID, &id,
                                               sizeof id, &written),
          "the algorithm's number");
    return fmt::format("cublasLt algorithm {}, workspace {} B", id, chosen_.workspaceSize);
  }
  std::vector<workload::MemoryRegion> Memory() const {
    std::vector<workload::MemoryRegion> regions;
    for (const auto& [matrix, tensor] : tensors_)
      regions.push_back({tensor.buffer.get(), tensor.buffer.bytes(), matrix == Matrix::kB});
    if (matmul_.bias) regions.push_back({bias_.buffer.get(), bias_.buffer.bytes(), true});
    return regions;
  }

 private:
  cublasStatus_t Multiply(cudaStream_t stream) const {
    const std::array<float, 2> reals = {1, 0};
    const std::array<int32_t, 2> integers = {1, 0};
    const bool is_integer = spec_.compute == "s32";
    const auto scale = [&](size_t which) -> const void* {
      return is_integer ? static_cast<const void*>(&integers.at(which)) : &reals.at(which);
    };
    void* const result = tensors_.at(spec_.result.matrix).buffer.get();
    return cublasLtMatmul(library_.get(), product_.get(), scale(0),
                          tensors_.at(spec_.first.matrix).buffer.get(), first_.get(),
                          tensors_.at(spec_.second.matrix).buffer.get(), second_.get(), scale(1),
                          result, result_.get(), result, result_.get(), &chosen_.algo,
                          workspace_.get(), kWorkspaceBytes, stream);
  }

  // Chooses the first of the heuristic's algorithms that runs. Throws Unsupported if none runs.
  void Choose() {
    cublasLtMatmulPreference_t made = nullptr;
    Check(cublasLtMatmulPreferenceCreate(&made), "a preference");
    const Owned<cublasLtMatmulPreferenceOpaque_t> preference(made, cublasLtMatmulPreferenceDestroy);
    Check(cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &kWorkspaceBytes, sizeof kWorkspaceBytes),
          "a preference");
    std::array<cublasLtMatmulHeuristicResult_t, kAlgorithms> proposals{};
    int count = 0;
    auto status = cublasLtMatmulAlgoGetHeuristic(library_.get(), product_.get(), first_.get(),
                                                 second_.get(), result_.get(), result_.get(), made,
                                                 kAlgorithms, proposals.data(), &count);
    for (int i = 0; i < count; ++i) {
      chosen_ = proposals.at(static_cast<size_t>(i));
      status = Multiply(stream_.get());
      if (status != CUBLAS_STATUS_SUCCESS) continue;
      stream_.Wait();
      return;
    }
    throw Unsupported("cublasLt {} has no algorithm for {} {} on this GPU ({})",
                      cublasLtGetVersion(), Key(matmul_.direction), matmul_.type,
                      cublasLtGetStatusString(status));
  }

  MatmulCase matmul_;
  unsigned seed_;
  workload::ProductInputs inputs_;
  ProductSpec spec_;
  std::map<Matrix, DeviceTensor> tensors_;
  DeviceTensor bias_;
  cuda::DeviceBuffer workspace_;
  Library library_;
  Product product_;
  Layout first_, second_, result_;
  cuda::CudaStream stream_;
  cublasLtMatmulHeuristicResult_t chosen_{};
};

// Throws Unsupported if the host or the GPU lacks the memory. Call it before allocating any.
void RequireMemory(const MatmulCase& matmul) {
  const auto& p = matmul.problem;
  constexpr double kHostBytes = 12;  // per element: twice as f32, and encoded
  workload::RequireHostMemory(kHostBytes * static_cast<double>(CountA(p) + CountB(p) + CountC(p)),
                              ToText(p));
  const double bytes =
      workload::ProductWork(matmul, PipeOf(matmul.type)).bytes.at(Level::kDram) + kWorkspaceBytes;
  size_t free = 0, total = 0;
  cuda::CheckCuda(cudaMemGetInfo(&free, &total), "the GPU's free memory");
  if (bytes > static_cast<double>(free))
    throw Unsupported("{} needs {:.3g} GB of GPU memory, but only {:.3g} GB are free", ToText(p),
                      bytes / 1e9, static_cast<double>(free) / 1e9);
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto matmul = ReadCublasltMatmulCase(name);
  if (workload::IsInt8(matmul.types) && matmul.direction != ProductDirection::kForward)
    throw Unsupported("int8 products have no backward pass, only fwd");
  workload::RequireTf32(matmul.type, std::getenv(workload::kTf32Override));
  RequireMemory(matmul);
  const auto call = std::make_shared<Call>(matmul, settings.seed);
  workload::PreparedCall prepared;
  prepared.run = [call] { call->Run(); };
  prepared.gpu.emplace().enqueue = [call](void* stream) { call->Enqueue(stream); };
  prepared.verify = [call] { return call->Verify(); };
  prepared.algorithm = call->Algorithm();
  prepared.modelled = workload::ProductWork(matmul, PipeOf(matmul.type));
  prepared.modelled.launches.reset();  // unknown: split sums take several kernels
  prepared.threads = 1;
  prepared.memory = call->Memory();
  return prepared;
}

[[maybe_unused]] const bool backend_registered = workload::RegisterBackend(
    {.op = "Matmul", .device = "gpu", .library = "cublaslt", .prepare = Prepare});

}  // namespace
}  // namespace dlroof::matmul
