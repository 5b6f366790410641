// Matmul and GroupedMatmul/gpu/cublaslt: matrix products by cuBLASLt. Part of the CUDA module only.
#include <cublasLt.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <type_traits>

#include "bench/matmul/case.h"
#include "bench/matmul/grouped.h"
#include "bench/matmul/loops.h"
#include "bench/workload/gpu_call.h"
#include "bench/workload/library_rules.h"
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
  static const std::map<std::string, cudaDataType_t> types = {
      {"f32", CUDA_R_32F},      {"f16", CUDA_R_16F},      {"bf16", CUDA_R_16BF}, {"s8", CUDA_R_8I},
      {"e4m3", CUDA_R_8F_E4M3}, {"e2m1", CUDA_R_4F_E2M1}, {"s32", CUDA_R_32I}};
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

cublasLtMatmulMatrixScale_t ModeOf(Scaling scaling, bool is_weights) {
  switch (scaling) {
    case Scaling::kRows:
      return CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    case Scaling::kBlocks:
      return is_weights ? CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F
                        : CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    case Scaling::kMx:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
    case Scaling::kNv:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3;
    default:
      return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  }
}

// GPU addresses of what a product reads besides its factors; null if it has no such tensor.
struct Extras {
  const void *bias = nullptr, *scales_a = nullptr, *scales_b = nullptr;
};

// Sets the scales' modes and addresses. cuBLASLt's matrix A is our B (ProductSpec), and vice versa.
void SetScales(const Product& product, Scaling scaling, const Extras& extras) {
  if (scaling == Scaling::kNone) return;
  Set(product, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, ModeOf(scaling, true));
  Set(product, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, ModeOf(scaling, false));
  Set(product, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, extras.scales_b);
  Set(product, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, extras.scales_a);
}

Product NewProduct(const MatmulCase& matmul, const ProductSpec& spec, const Extras& extras) {
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
  if (matmul.bias) Set(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, extras.bias);
  SetScales(product, matmul.scaling, extras);
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

using DeviceTensor = workload::DeviceTensor<cuda::DeviceBuffer>;

std::map<Matrix, DeviceTensor> EmptyTensors(const workload::ProductTypes& types,
                                            const workload::ProductSizes& sizes) {
  std::map<Matrix, DeviceTensor> tensors;
  for (const auto& [matrix, count] : {std::pair{Matrix::kA, sizes.source},
                                      {Matrix::kB, sizes.weights},
                                      {Matrix::kC, sizes.destination}})
    tensors.try_emplace(matrix, TypeOf(types, matrix), count);
  return tensors;
}

struct DeviceScales {
  FactorScales scales;
  cuda::DeviceBuffer buffer;

  DeviceScales(const MatmulCase& matmul, Matrix matrix)
      : scales(matmul, matrix, 0), buffer(std::max<size_t>(scales.Stored().size(), 1)) {}
  // Uploads seeded scales, and multiplies `elements`, the inputs of the check, by them.
  void Set(const MatmulCase& matmul, Matrix matrix, uint64_t seed, std::vector<float>& elements) {
    scales = FactorScales(matmul, matrix, 4 * seed + (matrix == Matrix::kA ? 0 : 1));
    if (scales.count() == 0) return;
    buffer.CopyFrom(scales.Stored().data());
    scales.Apply(elements);
  }
};

// cuBLASLt's descriptors of a product, and the chosen algorithm.
class Plan {
 public:
  Plan(const MatmulCase& matmul, const Extras& extras)
      : what_(fmt::format("{} {}", Key(matmul.direction), matmul.type)),
        spec_(ProductSpecOf(matmul)),
        product_(NewProduct(matmul, spec_, extras)),
        first_(NewLayout(spec_.first, spec_.batch)),
        second_(NewLayout(spec_.second, spec_.batch)),
        result_(NewLayout(spec_.result, spec_.batch)) {}

  const ProductSpec& spec() const { return spec_; }

  struct Memory {
    const void *first, *second;
    void *result, *workspace;  // `workspace` has kWorkspaceBytes bytes
  };
  cublasStatus_t Multiply(const Library& library, const Memory& at, cudaStream_t stream) const {
    const std::array<float, 2> reals = {1, 0};
    const std::array<int32_t, 2> integers = {1, 0};
    const bool is_integer = spec_.compute == "s32";
    const auto scale = [&](size_t which) -> const void* {
      return is_integer ? static_cast<const void*>(&integers.at(which)) : &reals.at(which);
    };
    return cublasLtMatmul(library.get(), product_.get(), scale(0), at.first, first_.get(),
                          at.second, second_.get(), scale(1), at.result, result_.get(), at.result,
                          result_.get(), &chosen_.algo, at.workspace, kWorkspaceBytes, stream);
  }

  // Chooses the first algorithm of the heuristic's list that runs. Throws Unsupported if none does.
  void Choose(const Library& library, const Memory& at, const cuda::CudaStream& stream) {
    cublasLtMatmulPreference_t made = nullptr;
    Check(cublasLtMatmulPreferenceCreate(&made), "a preference");
    const Owned<cublasLtMatmulPreferenceOpaque_t> preference(made, cublasLtMatmulPreferenceDestroy);
    Check(cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &kWorkspaceBytes, sizeof kWorkspaceBytes),
          "a preference");
    std::array<cublasLtMatmulHeuristicResult_t, kAlgorithms> proposals{};
    int count = 0;
    auto status = cublasLtMatmulAlgoGetHeuristic(library.get(), product_.get(), first_.get(),
                                                 second_.get(), result_.get(), result_.get(), made,
                                                 kAlgorithms, proposals.data(), &count);
    for (int i = 0; i < count; ++i) {
      chosen_ = proposals.at(static_cast<size_t>(i));
      status = Multiply(library, at, static_cast<cudaStream_t>(stream.get()));
      if (status != CUBLAS_STATUS_SUCCESS) continue;
      stream.Wait();
      return;
    }
    throw Unsupported("cublasLt {} has no algorithm for {} on this GPU ({})", cublasLtGetVersion(),
                      what_, cublasLtGetStatusString(status));
  }

  std::string Algorithm() const {
    int id = 0;
    size_t written = 0;
    Check(cublasLtMatmulAlgoConfigGetAttribute(&chosen_.algo, CUBLASLT_ALGO_CONFIG_ID, &id,
                                               sizeof id, &written),
          "the algorithm's number");
    return fmt::format("cublasLt algorithm {}, workspace {} B", id, chosen_.workspaceSize);
  }

 private:
  std::string what_;
  ProductSpec spec_;
  Product product_;
  Layout first_, second_, result_;
  cublasLtMatmulHeuristicResult_t chosen_{};
};

// Returns a product of `rows` rows of the case.
MatmulCase ProductOfRows(const MatmulCase& matmul, int64_t /*rows*/) { return matmul; }
MatmulCase ProductOfRows(const GroupedCase& grouped, int64_t rows) {
  return ProductOfExpert(grouped, rows);
}

// Returns the number of rows of each product of the case.
std::vector<int64_t> RowsOf(const MatmulCase& matmul) { return {matmul.problem.m}; }
std::vector<int64_t> RowsOf(const GroupedCase& grouped) { return RowsOfExperts(grouped.problem); }

// A product or, for a GroupedCase, the baseline of a grouped product: a product per expert with
// rows, in sequence. Experts with equal numbers of rows share a plan.
template <class Case>
class Call {
 public:
  Call(const Case& request, unsigned seed)
      : request_(request),
        first_(ProductOfRows(request, 1)),
        tensors_(EmptyTensors(request.types, SizesOf(request))),
        bias_(workload::BiasType(request.types), request.bias ? request.problem.n : 1),
        scales_a_(first_, Matrix::kA),
        scales_b_(first_, Matrix::kB),
        workspace_(kWorkspaceBytes),
        library_(NewLibrary()) {
    NewInputs(seed);
    int64_t row = 0, expert = 0;
    for (const auto rows : RowsOf(request)) {
      if (rows > 0) AddPart(ProductOfRows(request, rows), expert, row);
      ++expert, row += rows;
    }
  }

  void NewInputs(unsigned seed) {
    seed_ = seed;
    inputs_ = workload::SeededInputs(request_, seed);
    for (auto& [matrix, tensor] : tensors_)
      if (matrix != ProductOf(first_).result) tensor.Write(MatrixOf(inputs_, matrix));
    if (request_.bias) bias_.Write(inputs_.bias);
    scales_a_.Set(first_, Matrix::kA, seed, inputs_.source);
    scales_b_.Set(first_, Matrix::kB, seed, inputs_.weights);
  }

  void Enqueue(void* stream) const {
    for (const auto& [plan, at] : parts_) Enqueue(*plan, at, stream);
  }
  // Returns a function that starts the call on copies of its matrices, not of bias and scales.
  std::function<void(void*)> Moved(
      const std::map<const void*, void*>& copies) const requires std::is_same_v<Case, MatmulCase> {
    auto [plan, at] = parts_.front();
    for (const auto& [tensor, copy] : copies) {
      if (at.first == tensor) at.first = copy;
      if (at.second == tensor) at.second = copy;
      if (at.result == tensor) at.result = copy;
    }
    return [this, plan = plan, at = at](void* stream) { Enqueue(*plan, at, stream); };
  }
  void Run() const {
    Enqueue(stream_.get());
    stream_.Wait();
  }
  workload::Verification Verify() {
    auto& result = tensors_.at(ProductOf(first_).result);
    result.buffer.Fill(workload::kNotANumber);
    Run();
    auto found = workload::CheckOutput(request_, inputs_,
                                       workload::ProductOutput<float>{result.Read()}, seed_);
    inputs_ = {};  // frees gigabytes that timed calls do not use
    return found;
  }
  std::string Algorithm() const {
    const auto algorithm = parts_.front().first->Algorithm();
    if (std::is_same_v<Case, MatmulCase>) return algorithm;
    return fmt::format("{} products: {}", parts_.size(), algorithm);
  }
  std::vector<workload::MemoryRegion> Memory() const {
    std::vector<workload::MemoryRegion> regions;
    for (const auto& [matrix, tensor] : tensors_)
      regions.push_back(tensor.Region(matrix == Matrix::kB));
    if (request_.bias) regions.push_back(bias_.Region(true));
    for (const auto* scales : {&scales_a_, &scales_b_})
      if (scales->scales.count() > 0)
        regions.push_back({scales->buffer.get(), scales->buffer.bytes(), scales == &scales_b_});
    return regions;
  }

 private:
  void Enqueue(const Plan& plan, const Plan::Memory& at, void* stream) const {
    Check(plan.Multiply(library_, at, static_cast<cudaStream_t>(stream)), "a product");
  }
  // Appends a product with the rows of A and C from `row` on, and the matrix B of `expert`.
  void AddPart(const MatmulCase& product, int64_t expert, int64_t row) {
    const auto& p = product.problem;
    const Extras extras{bias_.get(), scales_a_.buffer.get(), scales_b_.buffer.get()};
    const auto [plan, is_new] = plans_.try_emplace(p.m, product, extras);
    const auto at = [&](Matrix matrix) {
      const auto& tensor = tensors_.at(matrix);
      const int64_t element = matrix == Matrix::kA   ? row * p.k
                              : matrix == Matrix::kB ? expert * p.n * p.k
                                                     : row * p.n;
      return static_cast<std::byte*>(tensor.get()) + workload::StoredBytes(element, tensor.type);
    };
    const auto& spec = plan->second.spec();
    const Plan::Memory memory = {at(spec.first.matrix), at(spec.second.matrix),
                                 at(spec.result.matrix), workspace_.get()};
    if (is_new) plan->second.Choose(library_, memory, stream_);
    parts_.emplace_back(&plan->second, memory);
  }

  Case request_;
  MatmulCase first_;  // the product, or one like those of the experts
  unsigned seed_ = 0;
  workload::ProductInputs inputs_{};
  std::map<Matrix, DeviceTensor> tensors_;
  DeviceTensor bias_;
  DeviceScales scales_a_, scales_b_;
  cuda::DeviceBuffer workspace_;
  Library library_;
  std::map<int64_t, Plan> plans_;  // by an expert's number of rows
  std::vector<std::pair<const Plan*, Plan::Memory>> parts_;
  cuda::CudaStream stream_;
};

// Throws Unsupported if host or GPU memory does not suffice. Call it before allocating.
void RequireMemory(const workload::ProductSizes& sizes, double bytes) {
  constexpr double kHostBytes = 12;  // per element: two f32 copies and the encoded value
  const auto elements = static_cast<double>(sizes.source + sizes.weights + sizes.destination);
  workload::RequireHostMemory(kHostBytes * elements, sizes.problem);
  cuda::RequireDeviceMemory(bytes + kWorkspaceBytes, sizes.problem);
}

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto matmul = ReadCublasltMatmulCase(name);
  if (matmul.types.source != matmul.types.destination &&
      matmul.direction != ProductDirection::kForward)
    throw Unsupported("{} products have no backward pass, only fwd", matmul.type);
  if (const auto refusal = ScalingRefusal(matmul, cuda::ComputeCapability()))
    throw Unsupported(refusal->text);
  workload::RequireTf32(matmul.type, std::getenv(workload::kTf32Override));
  auto work = workload::ProductWork(matmul, PipeOf(matmul.type));
  work.bytes.at(Level::kDram) += ScaleBytes(matmul);
  RequireMemory(SizesOf(matmul), work.bytes.at(Level::kDram));
  return workload::PreparedOnGpu(std::make_shared<Call<MatmulCase>>(matmul, settings.seed),
                                 std::move(work));
}

workload::PreparedCall PrepareGrouped(const workload::BenchmarkName& name,
                                      const workload::RunSettings& settings) {
  const auto grouped = ReadCublasltGroupedCase(name);
  workload::RequireTf32(grouped.type, std::getenv(workload::kTf32Override));
  RequireMemory(SizesOf(grouped),
                workload::ProductWork(grouped, PipeOf(grouped.type)).bytes.at(Level::kDram));
  return workload::PreparedOnGpu(std::make_shared<Call<GroupedCase>>(grouped, settings.seed),
                                 WorkOf(grouped, PipeOf(grouped.type)));
}

[[maybe_unused]] const bool backends_registered =
    workload::RegisterBackend(
        {.op = "Matmul", .device = "gpu", .library = "cublaslt", .prepare = Prepare}) &&
    workload::RegisterBackend(
        {.op = "GroupedMatmul", .device = "gpu", .library = "cublaslt", .prepare = PrepareGrouped});

}  // namespace
}  // namespace dlroof::matmul
