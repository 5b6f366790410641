// Matmul/cpu/reference: the plain loops as a benchmark, one thread, f64.
#include "bench/products/reference.h"

#include "bench/matmul/loops.h"

namespace dlroof {
namespace {

using Arrays = ProductArrays<double>;

Arrays FilledArrays(const MatmulCase& matmul, const ProductInputs& inputs) {
  auto arrays = ZeroMatrices<double>(matmul.problem);
  for (const Matrix matrix : {Matrix::kA, Matrix::kB, Matrix::kC}) {
    const auto& from = MatrixOf(inputs, matrix);
    std::ranges::copy(from, MatrixOf(arrays, matrix).begin());
  }
  arrays.bias.assign(inputs.bias.begin(), inputs.bias.end());
  return arrays;
}

MatmulCase ReadCase(const BenchmarkName& name) { return ReadMatmulCase(name, LoopsOffer()); }

PreparedCall Prepare(const BenchmarkName& name, const RunSettings& settings) {
  const auto matmul = ReadCase(name);
  return PrepareLoops(
      matmul, settings,
      {[matmul](const ProductInputs& inputs) { return FilledArrays(matmul, inputs); },
       [matmul](Arrays& arrays) { RunMatmulCase(matmul, arrays); },
       [result = ProductOf(matmul).result](const Arrays& arrays) {
         return ProductOutput<double>{MatrixOf(arrays, result)};
       }});
}

[[maybe_unused]] const bool reference_registered =
    RegisterCell({"Matmul", "cpu", "reference", ReadNameAlone<ReadCase>, "", Prepare});

}  // namespace
}  // namespace dlroof
