#include "bench/softmax/loops.h"

#include <span>

#include "bench/workload/memory.h"
#include "bench/workload/operator_parts.h"
#include "bench/workload/output_check.h"

namespace dlroof::softmax {

double RowError(std::span<const float> x, std::span<const double> y,
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

std::vector<float> SeededSource(const SoftmaxCase& softmax, uint64_t seed) {
  return workload::SeededValues(softmax.rows.m * softmax.rows.n, seed,
                                softmax.type == "f64" ? "f32" : softmax.type, -8, 8);
}

// The backend Softmax/cpu/reference.
namespace {

workload::PreparedCall Prepare(const workload::BenchmarkName& name,
                               const workload::RunSettings& settings) {
  const auto softmax = ReadReferenceCase(name);
  rows::RequireMemory(softmax);
  const auto source = SeededSource(softmax, settings.seed);
  return rows::PrepareLoops(source, workload::WorkOfLogged(Logged(softmax)),
                            {[p = softmax.rows](const auto& x, auto& y) { RunSoftmax(p, x, y); },
                             [softmax, source, seed = settings.seed](const auto& y) {
                               return CheckSoftmax(softmax, source, y, seed);
                             }});
}

[[maybe_unused]] const bool reference_registered = workload::RegisterBackend(
    {"Softmax", "cpu", "reference", workload::CheckedWorkload<ReadReferenceCase>, std::nullopt,
     Prepare});

}  // namespace
}  // namespace dlroof::softmax
