#include "bench/matmul/case.h"

namespace dlroof::matmul {
namespace {

// Throws BadInput for an option that the direction, the type or the problem cannot have.
void CheckVariant(const workload::BenchmarkName& name, const MatmulCase& matmul) {
  const auto refuse_if = [&](bool wrong, std::string_view option, std::string_view why) {
    if (wrong) workload::RefuseOption(name, option, why);
  };
  const auto& p = matmul.problem;
  const bool forward = matmul.direction == ProductDirection::kForward;
  const bool gradient = matmul.ip && matmul.direction == ProductDirection::kBackwardWeights;
  const bool transposed = p.transposed_a || p.transposed_b;
  refuse_if(p.b > 1 || transposed, "ip", "multiplies one pair of matrices: no batch, no tA or tB");
  refuse_if(!matmul.ip || !forward, "training", "is a kind of fwd of ip");
  refuse_if(!forward && !gradient, "bias", "belongs to fwd, and to bwd_weights of ip");
  refuse_if(matmul.ip, "any", "is what ip has anyway");
  refuse_if(!forward || transposed, "any", "belongs to fwd without tA and tB");
}

}  // namespace

products::ProductSizes SizesOf(const MatmulCase& matmul) {
  const auto& p = matmul.problem;
  return {ToText(p), CountA(p), CountB(p), CountC(p), p.n, p.k, DenseFlops(p)};
}

MatmulProduct ProductOf(const MatmulCase& matmul) {
  auto problem = matmul.problem;
  if (matmul.ip) problem.transposed_b = true;
  return ProductOf(problem, matmul.direction);
}

std::string_view TypeOf(const products::ProductTypes& types, Matrix matrix) {
  if (matrix == Matrix::kA) return types.source;
  return matrix == Matrix::kB ? types.weights : types.destination;
}

const workload::OptionRows& MatmulOptions() {
  static const workload::OptionRows rows = {{"ip"},     {"training"}, {"bias"},       {"relu"},
                                  {"scales"}, {"any"},      workload::FpmathOptions()};
  return rows;
}

MatmulCase ReadMatmulCase(const workload::BenchmarkName& name, const products::ProductOffer& offer) {
  MatmulCase matmul;
  products::ReadProductCase(
      name, offer, [&](int column) { matmul.problem = ParseMatmul(name.problem, column); }, matmul);
  matmul.ip = workload::HasOption(name, "ip");
  matmul.any = workload::HasOption(name, "any");
  CheckVariant(name, matmul);
  return matmul;
}

MatmulCase ReadOnednnMatmulCase(const workload::BenchmarkName& name) {
  return ReadMatmulCase(name, {{"f32", "bf16", "f16", "int8"}, true, MatmulOptions()});
}

}  // namespace dlroof::matmul
