#include "bench/workload/eltwise.h"

#include <cmath>
#include <numbers>

namespace dlroof::workload {

std::string_view Key(Eltwise function) {
  constexpr std::string_view kKeys[] = {"relu", "gelu_erf", "gelu_tanh", "logistic", "tanh"};
  return kKeys[static_cast<size_t>(function)];
}

std::optional<Eltwise> EltwiseFromKey(std::string_view key) {
  for (const auto function : kEltwises)
    if (Key(function) == key) return function;
  return std::nullopt;
}

double Apply(Eltwise function, double x) {
  switch (function) {
    case Eltwise::kRelu:
      return x > 0 ? x : 0;
    case Eltwise::kGeluErf:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Eltwise::kGeluTanh: {
      constexpr double kScale = 0.79788456080286536;  // sqrt(2 / pi)
      return 0.5 * x * (1 + std::tanh(kScale * x * (1 + 0.044715 * x * x)));
    }
    case Eltwise::kLogistic:
      return 1 / (1 + std::exp(-x));
    case Eltwise::kTanh:
      return std::tanh(x);
  }
  return x;
}

}  // namespace dlroof::workload
