// FLOPs and bytes of random problems, counted by loops that do each operation and touch each
// element of a tensor.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/matmul/case.h"
#include "bench/rows/rows.h"
#include "bench/workload/memory.h"
#include "tests/fakes/primitives/problems.h"

namespace dlroof::workload {
namespace {

using fakes::Draw, fakes::Tally, fakes::Times, fakes::Values;

constexpr int kRandomProblems = 200;

// The bytes of the elements of named tensors, each once.
class Touched {
 public:
  void Add(const std::string& tensor, int64_t element, double bytes) {
    if (touched_[tensor].insert(element).second) bytes_ += bytes;
  }
  void Add(const std::string& tensor, int64_t element, std::string_view type) {
    Add(tensor, element, static_cast<double>(StoredBytes(2, type)) / 2);
  }
  void AddAll(const std::string& tensor, int64_t elements, std::string_view type) {
    for (int64_t element = 0; element < elements; ++element) Add(tensor, element, type);
  }
  double bytes() const { return bytes_; }

 private:
  std::map<std::string, std::set<int64_t>> touched_;
  double bytes_ = 0;
};

void ExpectWork(const Work& work, int64_t flops, const Touched& touched, const std::string& what) {
  EXPECT_EQ(TotalFlops(work).value(), static_cast<double>(flops)) << what;
  EXPECT_EQ(work.bytes.at(Level::kDram), touched.bytes()) << what;
  EXPECT_EQ(work.launches, 1);
}

int64_t FlopsOf(const rows::RowsCase& request) {
  const auto& [m, n] = request.rows;
  const Values row(static_cast<size_t>(n)), column(static_cast<size_t>(m));
  const fakes::NormFlags flags{
      .scale = request.scale, .shift = request.shift, .rms = request.op == &rows::kRmsNorm};
  const auto formulas = fakes::ForwardFormulas();
  return fakes::Operations([&] {
    Times(m, [&] {
      if (request.op == &rows::kSoftmax) return Softmax(row, false);
      if (request.op == &rows::kEltwise)
        return Times(n, formulas.at(std::string(Key(request.function))));
      if (request.op == &rows::kSwiGlu) {
        Times(n, formulas.at("swish"));
        return Times(n, [] { (void)(Tally() * Tally()); });
      }
      if (request.residual) Times(n, [] { (void)(Tally() + Tally()); });
      request.backward ? LayerBackward(row, flags) : NormalizeForward(row, flags);
    });
    if (request.backward) Times(n, [&] { ColumnBackward(column, flags); });
  });
}

Touched TensorsOf(const rows::RowsCase& request) {
  Touched touched;
  const auto& [m, n] = request.rows;
  std::vector<std::string> tensors = {"x", request.backward ? "dx" : "y"};
  if (request.backward) tensors.emplace_back("dy");
  if (request.op == &rows::kSwiGlu) tensors.emplace_back("up");
  if (request.residual) tensors.insert(tensors.end(), {"residual", "sum"});
  for (const auto& tensor : tensors) touched.AddAll(tensor, m * n, request.type);
  // cuDNN's fused residual normalization has the scale in the type of the rows.
  if (request.scale) touched.AddAll("scale", n, request.residual ? request.type : "f32");
  if (request.shift && !request.backward) touched.AddAll("shift", n, "f32");
  if (request.scale && request.backward) touched.AddAll("dscale", n, "f32");
  if (request.shift && request.backward) touched.AddAll("dshift", n, "f32");
  if (!request.training && !request.backward) return touched;
  touched.AddAll("variance", m, "f32");
  if (request.op == &rows::kLayerNorm) touched.AddAll("mean", m, "f32");
  return touched;
}

TEST(RandomWork, OfRowsIsThatOfTheLoops) {
  Draw draw;
  for (const auto* op :
       {&rows::kSoftmax, &rows::kLayerNorm, &rows::kRmsNorm, &rows::kEltwise, &rows::kSwiGlu})
    for (int i = 0; i < kRandomProblems; ++i) {
      rows::RowsCase request{op, {draw.UpTo(9), draw.UpTo(12)}, draw.Coin() ? "f32" : "bf16"};
      const bool is_norm = op == &rows::kLayerNorm || op == &rows::kRmsNorm;
      request.function = kEltwises.at(static_cast<size_t>(draw.UpTo(5) - 1));
      request.backward = is_norm && draw.Coin();
      request.scale = is_norm && draw.Coin();
      request.shift = op == &rows::kLayerNorm && draw.Coin();
      request.residual = op == &rows::kRmsNorm && !request.backward && draw.Coin();
      request.training = is_norm && !request.backward && !request.residual && draw.Coin();
      ExpectWork(WorkOf(request), FlopsOf(request), TensorsOf(request),
                 fmt::format("{} {} {} bwd {} training {} scale {} shift {}", op->name,
                             ToText(request.rows), request.type, request.backward, request.training,
                             request.scale, request.shift));
    }
}

// Touches the scale of row `line` of A, or column `line` of B, at step `step` of the sum.
void TouchScale(matmul::Scaling scaling, const std::string& factor, int64_t line, int64_t step,
                Touched& touched) {
  using matmul::Scaling;
  const int64_t lines = scaling == Scaling::kBlocks && factor == "b" ? 128 : 1;
  const std::map<Scaling, int64_t> steps = {
      {Scaling::kBlocks, 128}, {Scaling::kMx, 32}, {Scaling::kNv, 16}};
  const auto scale = factor + " scale";
  if (scaling == Scaling::kTensor) touched.Add(scale, 0, "f32");
  if (scaling == Scaling::kRows) touched.Add(scale, line, "f32");
  if (const auto found = steps.find(scaling); found != steps.end())
    touched.Add(scale, line / lines * 1000 + step / found->second,
                scaling == Scaling::kBlocks ? "f32" : "u8");
}

// Touches the scale and the zero point of a compressed weight.
void TouchQuantization(const matmul::MatmulCase& matmul, int64_t column, int64_t step,
                       Touched& touched) {
  if (matmul.group == 0) return;
  const int64_t group = step / matmul.group * matmul.problem.n + column;
  touched.Add("scale", group, matmul.types.source);
  if (matmul.zero_points) touched.Add("zero point", group, matmul.types.weights);
}

// Half of the problems are scaled: fp8 with any scales, fp4, or (a sixth) compressed weights. Those
// of 4 bits have an even number of zero points.
matmul::MatmulCase RandomMatmul(Draw& draw, int index) {
  const char* const types[] = {"f32", "bf16", "f16", "int8", "u8s8f32"};
  matmul::MatmulCase matmul;
  auto& p = matmul.problem;
  p = {.m = draw.UpTo(12), .n = draw.UpTo(12), .k = 32 * draw.UpTo(8), .transposed_b = true};
  matmul.type = index % 4 == 0 ? "e2m1e2m1bf16" : "e4m3e4m3bf16";
  matmul.scaling =
      index % 4 == 0 ? matmul::Scaling::kNv : static_cast<matmul::Scaling>(draw.UpTo(5) - 1);
  if (index % 2 != 0) {
    p = {draw.UpTo(3), draw.UpTo(12), draw.UpTo(12), draw.UpTo(12), draw.Coin(), draw.Coin()};
    matmul.type = types[draw.UpTo(5) - 1];
    matmul.scaling = matmul::Scaling::kNone;
    matmul.direction = static_cast<ProductDirection>(draw.UpTo(3) - 1);
    const bool forward = matmul.direction == ProductDirection::kForward;
    matmul.bias = forward && draw.Coin();
    matmul.sum = forward && draw.Coin();
    if (forward && draw.Coin())
      matmul.eltwise = kEltwises.at(static_cast<size_t>(draw.UpTo(5) - 1));
  }
  if (index % 6 == 0) {
    const char* const compressed[] = {"f32s8f32", "bf16u8f32", "f16s4f16", "f32u4f32"};
    matmul.type = compressed[draw.UpTo(4) - 1];
    matmul.scaling = matmul::Scaling::kNone;
    p.n *= 2;
    matmul.group = draw.Coin() ? p.k : 32;
    matmul.zero_points = draw.Coin();
  }
  matmul.types = ProductTypesFromKey(matmul.type);
  return matmul;
}

TEST(RandomWork, OfProductsIsThatOfTheLoops) {
  Draw draw;
  const auto formulas = fakes::ForwardFormulas();
  for (int i = 0; i < kRandomProblems; ++i) {
    const auto matmul = RandomMatmul(draw, i);
    const auto& p = matmul.problem;
    Touched touched;
    const auto flops = fakes::Operations([&] {
      for (int64_t index = 0; index < p.b * p.m * p.n; ++index) {
        const int64_t column = index % p.n, row = index / p.n % p.m, pair = index / p.n / p.m;
        fakes::MultiplyAdd(p.k);
        if (matmul.bias) touched.Add("bias", column, BiasType(matmul.types));
        if (matmul.sum) touched.Add("addend", index, matmul.types.destination);
        Times(matmul.bias + matmul.sum, [] { (void)(Tally() + Tally()); });
        if (matmul.eltwise) formulas.at(std::string(Key(*matmul.eltwise)))();
        touched.Add("c", index, matmul.types.destination);
        for (int64_t step = 0; step < p.k; ++step) {
          touched.Add("a", (pair * p.m + row) * p.k + step, matmul.types.source);
          touched.Add("b", (pair * p.n + column) * p.k + step, matmul.types.weights);
          TouchScale(matmul.scaling, "a", row, step, touched);
          TouchScale(matmul.scaling, "b", column, step, touched);
          TouchQuantization(matmul, column, step, touched);
        }
      }
    });
    auto work = ProductWork(matmul, "fp32.matrix");
    work.bytes.at(Level::kDram) += ScaleBytes(matmul);
    ExpectWork(work, flops, touched, fmt::format("{} {}", matmul.type, ToText(p)));
  }
}

}  // namespace
}  // namespace dlroof::workload
