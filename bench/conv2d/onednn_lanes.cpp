#include "bench/conv2d/onednn_lanes.h"

#include <cstdint>

#include "bench/library_rules/vector_blocking.h"

namespace dlroof {
namespace {

double Padding(int64_t size, int64_t lanes) {
  const int64_t whole = (size + lanes - 1) / lanes * lanes;
  return static_cast<double>(whole) / static_cast<double>(size);
}

}  // namespace

std::optional<double> ExecutedOverUseful(const Conv2dCase& conv, std::string_view implementation,
                                         std::string_view isa) {
  const bool jit = implementation.starts_with("jit");
  if (!jit && !implementation.starts_with("br")) return std::nullopt;
  const auto& problem = conv.problem;
  const int64_t lanes = VectorUnitOf(implementation, isa).lanes;
  const int64_t filters = problem.k / problem.groups, channels = problem.c / problem.groups;
  if (problem.groups > 1 && filters == 1 && channels == 1) return Padding(problem.groups, lanes);
  const bool of_data = conv.direction == ProductDirection::kBackwardData;
  const int64_t made = of_data ? channels : filters, summed = of_data ? filters : channels;
  const bool pads_sum = jit && summed >= lanes;
  return Padding(made, lanes) * (pads_sum ? Padding(summed, lanes) : 1);
}

}  // namespace dlroof
