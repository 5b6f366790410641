// Matmul/cpu/reference: the plain loops as a benchmark, one thread, f64.
#include "bench/products/reference.h"

#include "bench/matmul/loops.h"

namespace dlroof::matmul {
namespace {

using Arrays = products::ProductArrays<double>;

Arrays FilledArrays(const MatmulCase& matmul, const products::ProductInputs& inputs) {
  auto arrays = ZeroMatrices<double>(matmul.problem);
  for (const Matrix matrix : {Matrix::kA, Matrix::kB, Matrix::kC}) {
    const auto& from = MatrixOf(inputs, matrix);
    std::ranges::copy(from, MatrixOf(arrays, matrix).begin());
  }
  arrays.bias.assign(inputs.bias.begin(), inputs.bias.end());
  return arrays;
}

MatmulCase ReadCase(const workload::BenchmarkName& name) { return ReadMatmulCase(name, products::LoopsOffer()); }

workload::PreparedCall Prepare(const workload::BenchmarkName& name, const workload::RunSettings& settings) {
  const auto matmul = ReadCase(name);
  return products::PrepareLoops(
      matmul, settings,
      {[matmul](const products::ProductInputs& inputs) { return FilledArrays(matmul, inputs); },
       [matmul](Arrays& arrays) { RunMatmulCase(matmul, arrays); },
       [result = ProductOf(matmul).result](const Arrays& arrays) {
         return products::ProductOutput<double>{MatrixOf(arrays, result)};
       }});
}

[[maybe_unused]] const bool reference_registered =
    workload::RegisterCell({"Matmul", "cpu", "reference", workload::ReadNameAlone<ReadCase>, "", Prepare});

}  // namespace
}  // namespace dlroof::matmul
