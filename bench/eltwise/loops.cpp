#include "bench/eltwise/loops.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "bench/rows/operator.h"

namespace dlroof::eltwise {
namespace {

double Right(workload::Eltwise function, double x) {
  const auto logistic = [](double at) { return std::exp(at) / (1 + std::exp(at)); };
  switch (function) {
    case workload::Eltwise::kRelu:
      return std::max(x, 0.0);
    case workload::Eltwise::kGeluErf:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case workload::Eltwise::kGeluTanh:
      return x * logistic(std::sqrt(8 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x));
    case workload::Eltwise::kLogistic:
      return logistic(x);
    case workload::Eltwise::kTanh:
      return std::expm1(2 * x) / (std::exp(2 * x) + 1);
  }
  return x;
}

bool IsGelu(workload::Eltwise function) {
  return function == workload::Eltwise::kGeluErf || function == workload::Eltwise::kGeluTanh;
}

}  // namespace

void RunLoops(const EltwiseCase& eltwise, const rows::Tensors<double>& in,
              std::vector<double>& destination) {
  for (size_t i = 0; i < destination.size(); ++i)
    destination[i] = Apply(eltwise.function, in.source[i]);
}

double RowError(const EltwiseCase& eltwise, const rows::Tensors<float>& /*in*/,
                std::span<const float> x, std::span<const double> y,
                const workload::TypeRounding& rounding) {
  double error = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double right = Right(eltwise.function, x[i]);
    const double size = std::fabs(IsGelu(eltwise.function) ? double{x[i]} : right);
    const double allowed = 64 * rounding.sum * size + rounding.result * std::fabs(right);
    error = std::max(error, workload::ErrorInUnits(y[i], right, allowed));
  }
  return error;
}

rows::Tensors<float> SeededTensors(const EltwiseCase& eltwise, uint64_t seed) {
  return {rows::SeededRows(eltwise, seed, -8, 8)};
}

namespace {

[[maybe_unused]] const bool reference_registered = workload::RegisterBackend(
    {"Eltwise", "cpu", "reference", workload::CheckedWorkload<ReadReferenceCase>, std::nullopt,
     rows::PrepareLoops<ReadReferenceCase>});

}  // namespace
}  // namespace dlroof::eltwise
