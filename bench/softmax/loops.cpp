#include "bench/softmax/loops.h"

#include <algorithm>
#include <cmath>

#include "bench/rows/operator.h"
#include "bench/workload/memory.h"

namespace dlroof::softmax {

void RunLoops(const SoftmaxCase& softmax, const rows::Tensors<double>& in,
              std::vector<double>& destination) {
  const int64_t n = softmax.rows.n;
  for (int64_t row = 0; row < softmax.rows.m; ++row) {
    const double* const x = in.source.data() + row * n;
    double* const y = destination.data() + row * n;
    double greatest = x[0];
    for (int64_t i = 1; i < n; ++i) greatest = std::max(greatest, x[i]);
    for (int64_t i = 0; i < n; ++i) y[i] = std::exp(x[i] - greatest);
    double sum = y[0];
    for (int64_t i = 1; i < n; ++i) sum += y[i];
    for (int64_t i = 0; i < n; ++i) y[i] /= sum;
  }
}

double RowError(const SoftmaxCase& /*softmax*/, const rows::Tensors<float>& /*in*/,
                std::span<const float> x, std::span<const double> y,
                const workload::TypeRounding& rounding) {
  const auto n = static_cast<double>(y.size());
  const double allowed = rounding.sum * (64 + std::sqrt(n)) + 2 * rounding.result;
  double sum = 0, error = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += std::exp(double{x[i]});
  for (size_t i = 0; i < y.size(); ++i) {
    const double right = std::exp(double{x[i]}) / sum;
    error = std::max(error, workload::ErrorInUnits(y[i], right, allowed * right));
  }
  return error;
}

rows::Tensors<float> SeededTensors(const SoftmaxCase& softmax, uint64_t seed) {
  return {rows::SeededRows(softmax, seed, -8, 8)};
}

namespace {

[[maybe_unused]] const bool reference_registered = workload::RegisterBackend(
    {"Softmax", "cpu", "reference", workload::CheckedWorkload<ReadReferenceCase>, std::nullopt,
     rows::PrepareLoops<ReadReferenceCase>});

}  // namespace
}  // namespace dlroof::softmax
