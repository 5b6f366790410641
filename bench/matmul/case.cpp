#include "bench/matmul/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "bench/workload/memory.h"
#include "counters/base/keys.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::matmul {
namespace {

MatmulProblem ReadLetters(workload::TextCursor& cursor) {
  MatmulProblem p;
  // A batch of 1 is omitted, so that each problem has one text.
  if (cursor.Accept("b")) p.b = cursor.Integer(2, "a batch");
  cursor.Sizes({{"m", p.m}, {"n", p.n}, {"k", p.k}});
  if (cursor.AtEnd()) return p;
  cursor.Expect("_");
  p.transposed_a = cursor.Accept("tA");
  p.transposed_b = cursor.Accept("tB");
  const bool any = p.transposed_a || p.transposed_b;
  if (!any) cursor.Refuse("tA, tB or tAtB");
  if (!cursor.AtEnd()) cursor.Refuse(p.transposed_b ? "the end" : "the end or tB");
  return p;
}

// Throws BadInput (without a column) if a size in bytes or the FLOPs overflow 64 bits.
void CheckShape(const MatmulProblem& p) {
  // [byte] The widest type, f64. If its sizes do not overflow, the sizes of no type do.
  constexpr int64_t kBytes = 8;
  workload::CheckSum({workload::CheckedCount({kBytes, p.b, p.m, p.k}, "A's size in byte"),
                      workload::CheckedCount({kBytes, p.b, p.k, p.n}, "B's size in byte"),
                      workload::CheckedCount({kBytes, p.b, p.m, p.n}, "C's size in byte")},
                     "the matrices' size in byte");
  workload::CheckedCount({2, p.b, p.m, p.n, p.k}, "the number of FLOPs");
}

}  // namespace

int64_t CountA(const MatmulProblem& p) { return p.b * p.m * p.k; }
int64_t CountB(const MatmulProblem& p) { return p.b * p.k * p.n; }
int64_t CountC(const MatmulProblem& p) { return p.b * p.m * p.n; }

std::string ToText(const MatmulProblem& p) {
  std::string text = p.b == 1 ? "" : fmt::format("b{}", p.b);
  text += fmt::format("m{}n{}k{}", p.m, p.n, p.k);
  if (p.transposed_a || p.transposed_b) text += '_';
  if (p.transposed_a) text += "tA";
  if (p.transposed_b) text += "tB";
  return text;
}

MatmulProblem ParseMatmul(std::string_view text, int column_offset) {
  return workload::ParseProblem(text, column_offset, ReadLetters, CheckShape);
}

int64_t Flops(const MatmulProblem& p) { return 2 * CountC(p) * p.k; }

namespace {

void CheckVariant(const workload::BenchmarkName& name, const MatmulCase& matmul) {
  const auto refuse_if = [&](bool wrong, std::string_view option, std::string_view reason) {
    if (wrong) workload::RefuseOption(name, option, reason);
  };
  const auto& p = matmul.problem;
  const bool forward = matmul.direction == ProductDirection::kForward;
  const bool gradient = matmul.ip && matmul.direction == ProductDirection::kBackwardWeights;
  const bool transposed = p.transposed_a || p.transposed_b;
  refuse_if(p.b > 1 || transposed, "ip", "multiplies one pair of matrices: no batch, no tA or tB");
  refuse_if(!matmul.ip || !forward, "training", "applies to fwd of ip");
  refuse_if(!forward && !gradient, "bias", "applies to fwd, and to bwd_weights of ip");
  refuse_if(matmul.ip, "any", "is always the case for ip");
  refuse_if(!forward || transposed, "any", "applies to fwd without tA and tB");
  const bool compressed = workload::HasCompressedWeights(matmul.types);
  refuse_if(compressed, "ip", "has no integer weights for a floating-point source: leave it out");
  refuse_if(!compressed, "zero-points", "needs integer weights and a floating-point source");
  for (const auto& [option, group] : kGroups) {
    refuse_if(!compressed, option, "needs integer weights and a floating-point source");
    refuse_if(p.k % group != 0, option, "needs a k that is a multiple of the group");
    refuse_if(p.k == group, option, "is one group: the option is scales");
  }
  if (compressed && !forward)
    throw BadInput({.column = workload::ColumnOfPart(name, 3)},
                   "integer weights have no gradients: the direction is fwd");
  const bool in_pairs = compressed && !workload::IsByte(matmul.types.weights);
  if (in_pairs && (p.transposed_b ? p.k : p.n) % 2 != 0)
    throw BadInput({.column = workload::ColumnOfPart(name, 5)},
                   "weights of 4 bits need an even {}: two are in a byte",
                   p.transposed_b ? "k" : "n");
  if (compressed && matmul.group == 0)
    throw BadInput({.column = workload::ColumnOfPart(name, 4)},
                   "the type {} needs the option scales or scales-g32 to scales-g128", name.type);
}

}  // namespace

workload::ProductSizes SizesOf(const MatmulCase& matmul) {
  const auto& p = matmul.problem;
  return {ToText(p), CountA(p), CountB(p), CountC(p),
          p.n,       p.k,       Flops(p),  QuantizationBytes(matmul)};
}

MatmulProduct ProductOf(const MatmulCase& matmul) {
  auto problem = matmul.problem;
  if (matmul.ip) problem.transposed_b = true;
  return ProductOf(problem, matmul.direction);
}

std::string_view TypeOf(const workload::ProductTypes& types, Matrix matrix) {
  if (matrix == Matrix::kA) return types.source;
  return matrix == Matrix::kB ? types.weights : types.destination;
}

MatmulCase ReadMatmulCase(const workload::BenchmarkName& name,
                          const workload::ProductCapabilities& capabilities) {
  auto matmul = workload::ReadProductCase<MatmulCase>(name, capabilities, ParseMatmul);
  matmul.ip = workload::HasOption(name, "ip");
  matmul.any = workload::HasOption(name, "any");
  matmul.zero_points = workload::HasOption(name, "zero-points");
  if (workload::HasCompressedWeights(matmul.types) && std::exchange(matmul.scales, false))
    matmul.group = matmul.problem.k;
  for (const auto& [option, group] : kGroups)
    if (workload::HasOption(name, option)) matmul.group = group;
  CheckVariant(name, matmul);
  return matmul;
}

MatmulCase ReadOnednnMatmulCase(const workload::BenchmarkName& name) {
  return ReadMatmulCase(name, {{"f32", "bf16", "f16", "int8"},
                               true,
                               {{"ip"},
                                {"training"},
                                {"bias"},
                                {"sum"},
                                {"relu", "gelu_erf", "gelu_tanh"},
                                {"scales", "scales-g32", "scales-g64", "scales-g128"},
                                {"zero-points"},
                                {"any"},
                                workload::FpmathOptions()},
                               true});
}

MatmulProduct ProductOf(const MatmulProblem& p, ProductDirection direction) {
  const bool a = p.transposed_a, b = p.transposed_b;
  if (direction == ProductDirection::kForward)
    return {p.b, p.m, p.n, p.k, {Matrix::kA, a}, {Matrix::kB, b}, Matrix::kC};
  if (direction == ProductDirection::kBackwardData) {
    if (a) return {p.b, p.k, p.m, p.n, {Matrix::kB, b}, {Matrix::kC, true}, Matrix::kA};
    return {p.b, p.m, p.k, p.n, {Matrix::kC, false}, {Matrix::kB, !b}, Matrix::kA};
  }
  if (b) return {p.b, p.n, p.k, p.m, {Matrix::kC, true}, {Matrix::kA, a}, Matrix::kB};
  return {p.b, p.k, p.n, p.m, {Matrix::kA, !a}, {Matrix::kC, false}, Matrix::kB};
}

namespace {

// Returns the problem's text with m = `batch`. Throws Unsupported without the option ip.
std::string WithBatch(const workload::BenchmarkName& name, int64_t batch) {
  if (!workload::HasOption(name, "ip"))
    throw Unsupported("a matrix product does not say which of its sizes is the batch (ip does)");
  return workload::WithBatch("m", ParseMatmul)(name, batch);
}

[[maybe_unused]] const bool op_registered = workload::RegisterOp(
    {.name = "Matmul",
     .words = {"matrix product", {{"pairs", "b"}, {"rows", "m"}, {"columns", "n"}, {"depth", "k"}}},
     .flop_convention = "2*B*M*N*K in every direction; each bias add, sum, relu and add "
                        "to the bias gradient 1, gelu_erf 5, gelu_tanh 9, apart",
     .benchdnn = {&kMatmulDriver, &kIpDriver},
     .directions = {"fwd", "bwd_data", "bwd_weights"},
     .templates = "Matmul/cpu/onednn/fwd/{f32,bf16,int8}/*\n"
                  "Matmul/cpu/onednn/{bwd_data,bwd_weights}/{f32,bf16}/*\n",
     .with_batch = WithBatch,
     .named_flops =
         [](const record::Record& record) {
           return static_cast<double>(Flops(ParseMatmul(record.problem)));
         },
     .variants = {{"layout", {"any"}, "the library packs its matrices outside of the call"}}});

workload::Workload Read(const workload::BenchmarkName& name) {
  return {.repro = MatmulBenchdnn(ReadOnednnMatmulCase(name))};
}

[[maybe_unused]] const bool on_onednn =
    workload::RegisterBackend({"Matmul", "cpu", "onednn", Read, "oneDNN 3.2 or newer"});

struct TypeRow {
  std::string_view type, compute, pipe;
};
constexpr std::array<TypeRow, 7> kTypes = {{{"f32", "f32", "fp32.vector"},
                                            {"tf32", "tf32", "tf32.matrix"},
                                            {"f16", "f32", "fp16.matrix"},
                                            {"bf16", "f32", "bf16.matrix"},
                                            {"s8s8s32", "s32", "int8.matrix"},
                                            {"e4m3e4m3bf16", "f32", "fp8.matrix"},
                                            {"e2m1e2m1bf16", "f32", "fp4.matrix"}}};

const TypeRow& RowOf(std::string_view type) {
  return *std::ranges::find_if(kTypes, [&](auto& row) { return row.type == type; });
}

// Describes a row-major factor to cuBLASLt, which reads it as column-major: as the transpose.
MatrixSpec SpecOf(const MatmulCase& matmul, const Factor& factor, int64_t rows, int64_t columns) {
  MatrixSpec spec{factor.matrix, std::string(TypeOf(matmul.types, factor.matrix)), columns, rows,
                  factor.transposed};
  if (factor.transposed) std::swap(spec.rows, spec.columns);
  return spec;
}

void CheckScaling(const workload::BenchmarkName& name, const MatmulCase& matmul) {
  const auto& p = matmul.problem;
  const bool is_fp4 = matmul.types.source == "e2m1", is_fp8 = matmul.types.source == "e4m3";
  const auto refuse = [&](bool wrong, std::string_view reason) {
    if (!wrong) return;
    for (const auto& option : ScalingOptions()) workload::RefuseOption(name, option, reason);
  };
  refuse(!is_fp4 && !is_fp8, "needs the type e4m3e4m3bf16 or e2m1e2m1bf16");
  refuse(is_fp4 != (matmul.scaling == Scaling::kNv),
         is_fp4 ? "does not exist for fp4: scales-nv does" : "needs the type e2m1e2m1bf16");
  refuse(p.b > 1 || p.transposed_a || !p.transposed_b,
         "applies to one product with _tB: both matrices are stored along k");
  if (is_fp4 && matmul.scaling == Scaling::kNone)
    throw BadInput({.column = workload::ColumnOfPart(name, 4)},
                   "the type e2m1e2m1bf16 needs the option scales-nv");
}

}  // namespace

MatmulCase ReadCublasltMatmulCase(const workload::BenchmarkName& name) {
  workload::ProductCapabilities capabilities{{}, false, {{"bias"}, {"relu"}, ScalingOptions()}};
  for (const auto& row : kTypes) capabilities.types.emplace_back(row.type);
  auto matmul = ReadMatmulCase(name, capabilities);
  matmul.scaling = ScalingOf(name);
  CheckScaling(name, matmul);
  return matmul;
}

ProductSpec ProductSpecOf(const MatmulCase& matmul) {
  const auto p = ProductOf(matmul);
  return {SpecOf(matmul, p.right, p.depth, p.columns), SpecOf(matmul, p.left, p.rows, p.depth),
          SpecOf(matmul, {p.result, false}, p.rows, p.columns), p.batch,
          std::string(RowOf(matmul.type).compute)};
}

std::string PipeOf(std::string_view type) { return std::string(RowOf(type).pipe); }

namespace {
[[maybe_unused]] const bool cublaslt_case_registered = workload::RegisterBackend(
    {"Matmul", "gpu", "cublaslt", workload::CheckedWorkload(ReadCublasltMatmulCase),
     "the CUDA module"});

constexpr int64_t kAll = 0;  // in Block: all rows, or the whole depth

struct Block {
  int64_t rows, depth;
};
struct ScalingRow {
  Scaling scaling;
  std::string_view option, type;  // option of names; type of a scale
  Block a, b;                     // elements of A and of B that share a scale
  int least, most;                // first and last compute capability with such scales
  std::string_view gpus;
};
// Types and compute capabilities: cuBLAS 13's documentation, sections 3.1.4.2 to 3.1.4.5. MXFP8's
// scales are powers of two without sign or fraction (OCP Microscaling Formats 1.0).
constexpr int kNewest = 9999;
constexpr std::array<ScalingRow, 5> kScalings = {{
    {Scaling::kTensor, "scales-tensor", "f32", {kAll, kAll}, {kAll, kAll}, 89, kNewest, "Ada"},
    {Scaling::kRows, "scales-rows", "f32", {1, kAll}, {1, kAll}, 90, 90, "Hopper"},
    {Scaling::kBlocks, "scales-blocks", "f32", {1, 128}, {128, 128}, 90, 90, "Hopper"},
    {Scaling::kMx, "scales-mx", "ue8m0", {1, 32}, {1, 32}, 100, kNewest, "Blackwell"},
    {Scaling::kNv, "scales-nv", "e4m3", {1, 16}, {1, 16}, 100, kNewest, "Blackwell"},
}};

const ScalingRow* RowOf(Scaling scaling) {
  const auto* const row = std::ranges::find(kScalings, scaling, &ScalingRow::scaling);
  return row == kScalings.end() ? nullptr : row;
}

int64_t Blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }

std::vector<float> PowersOfTwo(int64_t count, uint64_t seed) {
  constexpr float kExponent = 1.49F;  // rounds to -1, 0 and 1 about equally often
  auto values = workload::SeededValues(count, seed, "f32", -kExponent, kExponent);
  for (float& value : values) value = std::exp2(std::round(value));
  return values;
}

// Returns the number of scales of compressed weights.
int64_t Groups(const MatmulCase& matmul) {
  return matmul.group == 0 ? 0 : matmul.problem.k / matmul.group * matmul.problem.n;
}

// A tile of block scales: 128 rows of 4 scales (cuBLAS 13's documentation, section 3.1.4.4.2).
constexpr int64_t kTileRows = 128, kTileBlocks = 4;

}  // namespace

std::vector<std::string_view> ScalingOptions() {
  return VectorOf<std::string_view>(kScalings, [](const auto& row) { return row.option; });
}

Scaling ScalingOf(const workload::BenchmarkName& name) {
  for (const auto& row : kScalings)
    if (workload::HasOption(name, row.option)) return row.scaling;
  return Scaling::kNone;
}

std::optional<Reason> ScalingRefusal(const MatmulCase& matmul, int compute_capability) {
  const auto* const row = RowOf(matmul.scaling);
  const int least = row != nullptr ? row->least : matmul.types.source == "e4m3" ? 89 : 0;
  const int most = row != nullptr ? row->most : kNewest;
  if (compute_capability >= least && compute_capability <= most) return std::nullopt;
  return Reason{fmt::format(
      "{} needs a GPU of compute capability {:.1f}{} ({}); this one has {:.1f}",
      row != nullptr ? row->option : matmul.type, least / 10.0, most == kNewest ? " or higher" : "",
      row != nullptr ? row->gpus : "Ada", compute_capability / 10.0)};
}

FactorScales::FactorScales(const MatmulCase& matmul, Matrix matrix, uint64_t seed)
    : is_weights_(matrix == Matrix::kB),
      is_tiled_(matmul.scaling == Scaling::kMx || matmul.scaling == Scaling::kNv),
      is_padded_(matmul.scaling == Scaling::kBlocks && is_weights_),
      rows_(is_weights_ ? matmul.problem.n : matmul.problem.m),
      depth_(matmul.problem.k) {
  const auto* const row = RowOf(matmul.scaling);
  const Block block = row == nullptr ? Block{kAll, kAll} : is_weights_ ? row->b : row->a;
  block_rows_ = block.rows == kAll ? rows_ : block.rows;
  block_depth_ = block.depth == kAll ? depth_ : block.depth;
  row_blocks_ = Blocks(rows_, block_rows_);
  depth_blocks_ = Blocks(depth_, block_depth_);
  if (row == nullptr) return;
  type_ = row->type;
  values_ = PowersOfTwo(row_blocks_ * depth_blocks_, seed);
}

double FactorScales::Bytes() const {
  return static_cast<double>(count() * (is_tiled_ ? 1 : int64_t{sizeof(float)}));
}

float FactorScales::At(int64_t row, int64_t step) const {
  if (values_.empty()) return 1;
  return values_[static_cast<size_t>(row / block_rows_ * depth_blocks_ + step / block_depth_)];
}

void FactorScales::Apply(std::vector<float>& elements) const {
  if (values_.empty()) return;
  for (int64_t row = 0; row < rows_; ++row)
    for (int64_t step = 0; step < depth_; ++step)
      elements[static_cast<size_t>(row * depth_ + step)] *= At(row, step);
}

std::vector<std::byte> FactorScales::Stored() const {
  if (values_.empty()) return {};
  const bool is_power = type_ == "ue8m0";
  const int64_t rows = is_tiled_ ? Blocks(row_blocks_, kTileRows) * kTileRows : row_blocks_;
  const int64_t depth =
      is_tiled_ || is_padded_ ? Blocks(depth_blocks_, kTileBlocks) * kTileBlocks : depth_blocks_;
  const auto index = [&](int64_t row, int64_t block) {
    // cuBLAS 13's documentation, section 3.1.4.5.1: scales of 128 x 128 blocks are consecutive
    // along the sum, padded to a multiple of 4; scales of 1 x 128 blocks are consecutive along the
    // rows.
    if (!is_tiled_) return is_padded_ ? row * depth + block : block * rows + row;
    const int64_t tile = (row / kTileRows * depth + block / kTileBlocks * kTileBlocks) * kTileRows;
    return tile + row % 32 * 16 + row % kTileRows / 32 * 4 + block % kTileBlocks;
  };
  constexpr float kBias = 127;
  std::vector<float> stored(static_cast<size_t>(rows * depth));  // padded with zeros
  for (int64_t row = 0; row < row_blocks_; ++row)
    for (int64_t block = 0; block < depth_blocks_; ++block) {
      const float value = values_[static_cast<size_t>(row * depth_blocks_ + block)];
      stored[static_cast<size_t>(index(row, block))] = is_power ? std::log2(value) + kBias : value;
    }
  return workload::Encoded(stored, is_power ? "u8" : type_);
}

Quantization QuantizationOf(const MatmulCase& matmul) {
  Quantization found;
  if (matmul.group == 0) return found;
  constexpr uint64_t kSeed = 1;
  const auto& [type, low, high] = *workload::FindIntegerWeights(matmul.types.weights);
  found.scales = PowersOfTwo(Groups(matmul), kSeed);
  // The largest weights are then about 2.
  for (float& scale : found.scales) scale *= workload::IsByte(type) ? 0x1p-7F : 0x1p-3F;
  if (matmul.zero_points)
    found.zero_points = workload::SeededValues(Groups(matmul), kSeed + 1, type, low, high);
  return found;
}

double QuantizationBytes(const MatmulCase& matmul) {
  const int64_t count = Groups(matmul);
  return static_cast<double>(
      workload::StoredBytes(count, matmul.types.source) +
      (matmul.zero_points ? workload::StoredBytes(count, matmul.types.weights) : 0));
}

void Expand(const MatmulCase& matmul, std::vector<float>& b) {
  const auto [scales, zero_points] = QuantizationOf(matmul);
  const auto& p = matmul.problem;
  for (int64_t index = 0; index < CountB(p); ++index) {
    const int64_t of_pair = index % (p.k * p.n);
    const int64_t step = p.transposed_b ? of_pair % p.k : of_pair / p.n;
    const int64_t column = p.transposed_b ? of_pair / p.k : of_pair % p.n;
    const auto group = static_cast<size_t>(step / matmul.group * p.n + column);
    float& weight = b[static_cast<size_t>(index)];
    if (!zero_points.empty()) weight -= zero_points[group];
    weight *= scales[group];
  }
}

double ScaleBytes(const MatmulCase& matmul) {
  return FactorScales(matmul, Matrix::kA, 0).Bytes() + FactorScales(matmul, Matrix::kB, 0).Bytes();
}

}  // namespace dlroof::matmul
