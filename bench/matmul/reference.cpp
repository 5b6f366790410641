// Matmul/cpu/reference: the plain loops as a benchmark, one thread, f64.
#include <memory>

#include "bench/matmul/check.h"
#include "bench/workload/host_memory.h"

namespace dlroof {
namespace {

using Arrays = MatmulArrays<double>;

void CopyInputs(const MatmulInputs& inputs, Arrays& arrays) {
  for (const Matrix matrix : {Matrix::kA, Matrix::kB, Matrix::kC})
    std::copy(inputs.Of(matrix).begin(), inputs.Of(matrix).end(), arrays.Of(matrix).begin());
  arrays.bias.assign(inputs.bias.begin(), inputs.bias.end());
}

std::vector<MemoryRegion> Regions(const Arrays& arrays) {
  std::vector<MemoryRegion> regions;
  for (const auto* matrix : {&arrays.a, &arrays.b, &arrays.c, &arrays.bias})
    if (!matrix->empty())
      regions.push_back({matrix->data(), matrix->size() * sizeof(double),
                         matrix == &arrays.b || matrix == &arrays.bias});
  return regions;
}

MatmulCase ReadCase(const BenchmarkName& name) {
  return ReadMatmulCase(name, {{"f64"}, false, {{"bias"}, {"relu"}}});
}

PreparedCall Prepare(const BenchmarkName& name, const RunSettings& settings) {
  const auto matmul = ReadCase(name);
  const auto& p = matmul.problem;
  // Inputs as f32, arrays in f64, and a copy of the output to check.
  constexpr double kBytes = 20;
  RequireHostMemory(kBytes * static_cast<double>(CountA(p) + CountB(p) + CountC(p)), ToText(p));
  const auto inputs =
      std::make_shared<const MatmulInputs>(SeededMatmulInputs(matmul, settings.seed));
  const auto arrays = std::make_shared<Arrays>(ZeroMatrices<double>(p));
  CopyInputs(*inputs, *arrays);
  PreparedCall call;
  call.run = [matmul, arrays] { RunMatmulCase(matmul, *arrays); };
  call.verify = [matmul, arrays, inputs, seed = settings.seed] {
    RunMatmulCase(matmul, *arrays);
    const MatmulOutput<double> output{arrays->Of(ProductOf(matmul).result)};
    return CheckMatmul(matmul, *inputs, output, seed);
  };
  call.algorithm = "plain loops";
  call.threads = 1;
  call.modelled = MatmulWork(matmul, "fp64.vector");
  call.memory = Regions(*arrays);
  return call;
}

Workload Read(const BenchmarkName& name) {
  ReadCase(name);
  return {};
}

[[maybe_unused]] const bool registered =
    RegisterCell({"Matmul", "cpu", "reference", Read, "", Prepare});

}  // namespace
}  // namespace dlroof
