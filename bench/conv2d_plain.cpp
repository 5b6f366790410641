// Conv2D/cpu/reference: the plain loops as a benchmark, one thread, f64.
#include <memory>

#include "bench/conv2d_check.h"
#include "bench/host_memory.h"

namespace dlroof {
namespace {

using Arrays = Conv2dArrays<double>;

void CopySource(const Conv2dProblem& p, const std::vector<float>& plain, Arrays& arrays) {
  ForEachSource(p, [&](int64_t from, int64_t to) {
    arrays.padded_source[static_cast<size_t>(to)] = double{plain[static_cast<size_t>(from)]};
  });
}

std::vector<double> Output(const Conv2dProblem& p, Conv2dDirection direction,
                           const Arrays& arrays) {
  if (direction == Conv2dDirection::kForward) return arrays.destination;
  if (direction == Conv2dDirection::kBackwardWeights) return arrays.weights;
  std::vector<double> plain(static_cast<size_t>(SourceCount(p)));
  ForEachSource(p, [&](int64_t to, int64_t from) {
    plain[static_cast<size_t>(to)] = arrays.padded_source[static_cast<size_t>(from)];
  });
  return plain;
}

PreparedCall Prepare(const Conv2dCase& one, const RunSettings& settings) {
  const auto& [p, direction, type] = one;
  // Inputs as f32, arrays in f64, and a copy of the output to check.
  constexpr double kBytes = 20;
  RequireHostMemory(
      kBytes * static_cast<double>(SourceCount(p) + WeightsCount(p) + DestinationCount(p)),
      ToText(p));
  const auto inputs =
      std::make_shared<const Conv2dInputs>(SeededConv2dInputs(p, direction, type, settings.seed));
  const auto arrays = std::make_shared<Arrays>(ZeroArrays<double>(p));
  if (!inputs->source.empty()) CopySource(p, inputs->source, *arrays);
  std::copy(inputs->weights.begin(), inputs->weights.end(), arrays->weights.begin());
  std::copy(inputs->destination.begin(), inputs->destination.end(), arrays->destination.begin());
  PreparedCall call;
  call.run = [p = p, direction = direction, arrays] { RunConv2dReference(p, direction, *arrays); };
  call.verify = [p = p, direction = direction, arrays, inputs, seed = settings.seed] {
    RunConv2dReference(p, direction, *arrays);
    return CheckConv2d(p, direction, "f64", *inputs, Output(p, direction, *arrays), seed);
  };
  call.algorithm = "plain loops";
  call.threads = 1;
  call.modelled = Conv2dWork(p, "fp64.vector", {8, 8, 8});
  return call;
}

Workload Make(const BenchmarkName& name) {
  const auto one = ReadConv2dCase(name, {"f64"});
  return {.name = name,
          .prepare = [one](const RunSettings& settings) { return Prepare(one, settings); }};
}

[[maybe_unused]] const bool registered = RegisterCell({"Conv2D", "cpu", "reference", Make});

}  // namespace
}  // namespace dlroof
