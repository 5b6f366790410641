// Conv2D/cpu/reference: the plain loops as a benchmark, one thread, f64.
#include "bench/products/reference.h"

#include "bench/conv2d/loops.h"

namespace dlroof::conv2d {
namespace {

using Arrays = products::ProductArrays<double>;

Arrays FilledArrays(const Conv2dCase& conv, const products::ProductInputs& inputs) {
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

products::ProductOutput<double> Output(const Conv2dCase& conv, const Arrays& arrays) {
  if (conv.direction == ProductDirection::kForward) return {arrays.destination};
  if (conv.direction == ProductDirection::kBackwardWeights) return {arrays.weights, arrays.bias};
  std::vector<double> plain(static_cast<size_t>(SourceCount(conv.problem)));
  ForEachSource(conv.problem, [&](int64_t to, int64_t from) {
    plain[static_cast<size_t>(to)] = arrays.source[static_cast<size_t>(from)];
  });
  return {std::move(plain)};
}

Conv2dCase ReadCase(const workload::BenchmarkName& name) { return ReadConv2dCase(name, products::LoopsOffer()); }

workload::PreparedCall Prepare(const workload::BenchmarkName& name, const workload::RunSettings& settings) {
  const auto conv = ReadCase(name);
  return products::PrepareLoops(conv, settings,
                      {[conv](const products::ProductInputs& inputs) { return FilledArrays(conv, inputs); },
                       [conv](Arrays& arrays) { RunConv2dCase(conv, arrays); },
                       [conv](const Arrays& arrays) { return Output(conv, arrays); }});
}

[[maybe_unused]] const bool reference_registered =
    workload::RegisterCell({"Conv2D", "cpu", "reference", workload::ReadNameAlone<ReadCase>, "", Prepare});

}  // namespace
}  // namespace dlroof::conv2d
