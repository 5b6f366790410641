#include "bench/matmul/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "bench/matmul/scaling.h"
#include "bench/workload/benchmark_name.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "reporters/roofline/above_roof.h"

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
  // Size of the widest type, so that no type overflows.
  constexpr int64_t kBytes = 8;
  int64_t total = workload::CheckedCount({kBytes, p.b, p.m, p.k}, "A's size in byte");
  const int64_t b = workload::CheckedCount({kBytes, p.b, p.k, p.n}, "B's size in byte");
  const int64_t c = workload::CheckedCount({kBytes, p.b, p.m, p.n}, "C's size in byte");
  if (__builtin_add_overflow(total, b, &total) || __builtin_add_overflow(total, c, &total))
    throw BadInput("the matrices' size in byte overflows 64 bits");
  workload::CheckedCount({2, p.b, p.m, p.n, p.k}, "the number of FLOPs");
}

}  // namespace

int64_t CountA(const MatmulProblem& p) { return p.b * p.m * p.k; }
int64_t CountB(const MatmulProblem& p) { return p.b * p.k * p.n; }
int64_t CountC(const MatmulProblem& p) { return p.b * p.m * p.n; }

std::string ToText(const MatmulProblem& p) {
  std::string text = p.b == 1 ? "" : fmt::format("b{}", p.b);
  text += fmt::format("m{}n{}k{}", p.m, p.n, p.k);
  if (p.transposed_a || p.transposed_b) text += "_";
  if (p.transposed_a) text += "tA";
  if (p.transposed_b) text += "tB";
  return text;
}

MatmulProblem ParseMatmul(std::string_view text, int column_offset) {
  workload::TextCursor cursor(text, column_offset);
  const auto problem = ReadLetters(cursor);
  try {
    CheckShape(problem);
  } catch (const BadInput& error) {
    throw BadInput("column {}: {}", column_offset + 1, error.what());
  }
  return problem;
}

int64_t Flops(const MatmulProblem& p) { return 2 * CountC(p) * p.k; }

namespace {

// Throws BadInput for an option that does not apply to the direction, type or problem.
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
}

}  // namespace

workload::ProductSizes SizesOf(const MatmulCase& matmul) {
  const auto& p = matmul.problem;
  return {ToText(p), CountA(p), CountB(p), CountC(p), p.n, p.k, Flops(p)};
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
  MatmulCase matmul;
  workload::ReadProductCase(
      name, capabilities, [&](int column) { matmul.problem = ParseMatmul(name.problem, column); },
      matmul);
  matmul.ip = workload::HasOption(name, "ip");
  matmul.any = workload::HasOption(name, "any");
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
                                {"scales"},
                                {"any"},
                                workload::FpmathOptions()}});
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

// Operator and backend by oneDNN.

namespace {

std::string WithBatch(const workload::BenchmarkName& name, int64_t batch) {
  if (!workload::HasOption(name, "ip"))
    throw Unsupported("a matrix product does not say which of its sizes is the batch (ip does)");
  auto problem = ParseMatmul(name.problem);
  problem.m = batch;
  return ToText(ParseMatmul(ToText(problem)));
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
     .variants = {{"layout", {"any"}, "the library packs its matrices outside of the call"}}});

[[maybe_unused]] const bool flops_registered =
    roofline::RegisterNamedFlops("Matmul", [](const record::Record& record) {
      return static_cast<double>(Flops(ParseMatmul(record.problem)));
    });

workload::Workload Read(const workload::BenchmarkName& name) {
  return {.repro = MatmulBenchdnn(ReadOnednnMatmulCase(name))};
}

[[maybe_unused]] const bool on_onednn =
    workload::RegisterBackend({"Matmul", "cpu", "onednn", Read, "oneDNN 3.2 or newer"});

}  // namespace

namespace {

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

// A row-major matrix, read as column-major, is its transpose.
MatrixSpec SpecOf(const MatmulCase& matmul, const Factor& factor, int64_t rows, int64_t columns) {
  MatrixSpec spec{factor.matrix, std::string(TypeOf(matmul.types, factor.matrix)), columns, rows,
                  factor.transposed};
  if (factor.transposed) std::swap(spec.rows, spec.columns);
  return spec;
}

}  // namespace

namespace {

// Throws BadInput for scales that do not exist for the type or problem.
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
  if (matmul.type == "tf32") matmul.fpmath = "tf32-truncated";
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
    {"Matmul", "gpu", "cublaslt", workload::CheckedWorkload<ReadCublasltMatmulCase>,
     "the CUDA module"});
}  // namespace
}  // namespace dlroof::matmul
