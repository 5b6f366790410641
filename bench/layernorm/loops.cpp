#include "bench/layernorm/loops.h"

#include <algorithm>
#include <cmath>

#include "bench/rows/operator.h"
#include "bench/workload/memory.h"

namespace dlroof::layernorm {

void RunLoops(const LayerNormCase& norm, const rows::Tensors<double>& in,
              std::vector<double>& destination) {
  const auto& scale = in.parameters[kScale];
  const auto& shift = in.parameters[kShift];
  const auto n = static_cast<size_t>(norm.rows.n);
  for (int64_t row = 0; row < norm.rows.m; ++row) {
    const double* const x = in.source.data() + row * norm.rows.n;
    double* const y = destination.data() + row * norm.rows.n;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; ++i) sum += x[i];
    const double mean = sum / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + double{kEpsilon});
    for (size_t i = 0; i < n; ++i) {
      y[i] = (x[i] - mean) * factor;
      if (!scale.empty()) y[i] *= scale[i];
      if (!shift.empty()) y[i] += shift[i];
    }
  }
}

double RowError(const LayerNormCase& /*norm*/, const rows::Tensors<float>& in,
                std::span<const float> x, std::span<const double> y,
                const workload::TypeRounding& rounding) {
  const auto& scales = in.parameters[kScale];
  const auto& shifts = in.parameters[kShift];
  const auto n = static_cast<double>(y.size());
  double mean = 0, variance = 0, error = 0;
  for (size_t i = 0; i < y.size(); ++i) mean += double{x[i]} / n;
  for (size_t i = 0; i < y.size(); ++i) variance += (x[i] - mean) * (x[i] - mean) / n;
  const double root = std::sqrt(variance + double{kEpsilon});
  for (size_t i = 0; i < y.size(); ++i) {
    const double scale = scales.empty() ? 1.0 : scales[i];
    const double shift = shifts.empty() ? 0.0 : shifts[i];
    const double right = (x[i] - mean) / root * scale + shift;
    const double size = (std::fabs(x[i]) + std::fabs(mean)) * scale / root + std::fabs(shift);
    const double allowed = rounding.sum * (64 + std::sqrt(n)) * size +
                           rounding.result * std::fabs(right) + rounding.least;
    error = std::max(error, workload::ErrorInUnits(y[i], right, allowed));
  }
  return error;
}

rows::Tensors<float> SeededTensors(const LayerNormCase& norm, uint64_t seed) {
  const auto column = [&](bool used, uint64_t which, float low, float high) {
    return workload::SeededValues(used ? norm.rows.n : 0, 3 * seed + which, "f32", low, high);
  };
  return {rows::SeededRows(norm, 3 * seed, -1, 3),
          {column(norm.scale, 1, 0.5, 1.5), column(norm.shift, 2, -1, 1)}};
}

namespace {

[[maybe_unused]] const bool reference_registered = workload::RegisterBackend(
    {"LayerNorm", "cpu", "reference", workload::CheckedWorkload<ReadReferenceCase>, std::nullopt,
     rows::PrepareLoops<ReadReferenceCase>});

}  // namespace
}  // namespace dlroof::layernorm
