#include "bench/conv2d/loops.h"

namespace dlroof::conv2d {
namespace {

using Arrays = workload::ProductArrays<double>;

Arrays FilledArrays(const Conv2dCase& conv, const workload::ProductInputs& inputs) {
  auto arrays = ZeroArrays<double>(conv.problem);
  if (!inputs.source.empty())
    ForEachSource(conv.problem, [&](int64_t from, int64_t to) {
      arrays.source[static_cast<size_t>(to)] = double{inputs.source[static_cast<size_t>(from)]};
    });
  std::ranges::copy(inputs.weights, arrays.weights.begin());
  std::ranges::copy(inputs.destination, arrays.destination.begin());
  if (conv.bias) arrays.bias.assign(static_cast<size_t>(conv.problem.k), 0);
  std::ranges::copy(inputs.bias, arrays.bias.begin());
  return arrays;
}

workload::ProductOutput<double> Output(const Conv2dCase& conv, const Arrays& arrays) {
  if (conv.direction != ProductDirection::kBackwardData) return workload::OutputOf(conv, arrays);
  std::vector<double> plain(static_cast<size_t>(SizesOf(conv).source));
  ForEachSource(conv.problem, [&](int64_t to, int64_t from) {
    plain[static_cast<size_t>(to)] = arrays.source[static_cast<size_t>(from)];
  });
  return {std::move(plain)};
}

[[maybe_unused]] const bool reference_registered = workload::RegisterLoops<Conv2dCase>(
    "Conv2D", {ReadConv2dCase, {{"bias"}, {"relu"}}, RunConv2dCase<double>, FilledArrays, Output});

}  // namespace
}  // namespace dlroof::conv2d
