#include "bench/layernorm/loops.h"

#include <algorithm>
#include <memory>
#include <span>

#include "bench/workload/memory.h"
#include "bench/workload/operator_parts.h"
#include "bench/workload/output_check.h"

namespace dlroof::layernorm {

double RowError(const LayerNormTensors<float>& in, std::span<const float> x,
                std::span<const double> y, const workload::TypeRounding& rounding) {
  const auto n = static_cast<double>(y.size());
  double mean = 0, variance = 0, error = 0;
  for (size_t i = 0; i < y.size(); ++i) mean += double{x[i]} / n;
  for (size_t i = 0; i < y.size(); ++i) variance += (x[i] - mean) * (x[i] - mean) / n;
  const double root = std::sqrt(variance + double{kEpsilon});
  for (size_t i = 0; i < y.size(); ++i) {
    const double scale = in.scale.empty() ? 1.0 : in.scale[i];
    const double shift = in.shift.empty() ? 0.0 : in.shift[i];
    const double right = (x[i] - mean) / root * scale + shift;
    const double size = (std::fabs(x[i]) + std::fabs(mean)) * scale / root + std::fabs(shift);
    const double allowed = rounding.sum * (64 + std::sqrt(n)) * size +
                           rounding.result * std::fabs(right) + rounding.least;
    error = std::max(error, workload::ErrorInUnits(y[i], right, allowed));
  }
  return error;
}

LayerNormTensors<float> SeededTensors(const LayerNormCase& norm, uint64_t seed) {
  const auto& [m, n] = norm.rows;
  LayerNormTensors<float> in{
      workload::SeededValues(m * n, 3 * seed, norm.type == "f64" ? "f32" : norm.type, -1, 3)};
  if (norm.scale) in.scale = workload::SeededValues(n, 3 * seed + 1, "f32", 0.5, 1.5);
  if (norm.shift) in.shift = workload::SeededValues(n, 3 * seed + 2, "f32", -1, 1);
  return in;
}

// The backend LayerNorm/cpu/reference.
namespace {

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto norm = ReadReferenceCase(name);
  rows::RequireMemory(norm);
  const auto in = SeededTensors(norm, settings.seed);
  const auto wide = std::make_shared<const LayerNormTensors<double>>(LayerNormTensors<double>{
      {}, {in.scale.begin(), in.scale.end()}, {in.shift.begin(), in.shift.end()}});
  return rows::PrepareLoops(in.source, workload::WorkOfLogged(Logged(norm)),
                            {[wide, p = norm.rows](const auto& x, auto& y) {
                               RunLayerNorm(p, x, *wide, double{kEpsilon}, y);
                             },
                             [norm, in, seed = settings.seed](const auto& y) {
                               return CheckLayerNorm(norm, in, y, seed);
                             },
                             {&wide->scale, &wide->shift}});
}

[[maybe_unused]] const bool reference_registered = workload::RegisterBackend(
    {"LayerNorm", "cpu", "reference", workload::CheckedWorkload<ReadReferenceCase>, std::nullopt,
     Prepare});

}  // namespace
}  // namespace dlroof::layernorm
