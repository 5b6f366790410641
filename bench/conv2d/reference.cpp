// Conv2D/cpu/reference: the plain loops as a benchmark, one thread, f64.
#include <memory>

#include "bench/conv2d/check.h"
#include "bench/workload/host_memory.h"

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

std::vector<MemoryRegion> Regions(const Arrays& arrays) {
  std::vector<MemoryRegion> regions;
  for (const auto* tensor :
       {&arrays.padded_source, &arrays.weights, &arrays.destination, &arrays.bias})
    if (!tensor->empty())
      regions.push_back({tensor->data(), tensor->size() * sizeof(double),
                         tensor == &arrays.weights || tensor == &arrays.bias});
  return regions;
}

Conv2dCase ReadCase(const BenchmarkName& name) {
  return ReadConv2dCase(name, {{"f64"}, false, {{"bias"}, {"relu"}}});
}

PreparedCall Prepare(const BenchmarkName& name, const RunSettings& settings) {
  const auto conv = ReadCase(name);
  const auto& p = conv.problem;
  // Inputs as f32, arrays in f64, and a copy of the output to check.
  constexpr double kBytes = 20;
  RequireHostMemory(
      kBytes * static_cast<double>(SourceCount(p) + WeightsCount(p) + DestinationCount(p)),
      ToText(p));
  const auto inputs = std::make_shared<const Conv2dInputs>(SeededConv2dInputs(conv, settings.seed));
  const auto arrays = std::make_shared<Arrays>(ZeroArrays<double>(p));
  if (!inputs->source.empty()) CopySource(p, inputs->source, *arrays);
  std::copy(inputs->weights.begin(), inputs->weights.end(), arrays->weights.begin());
  std::copy(inputs->destination.begin(), inputs->destination.end(), arrays->destination.begin());
  if (conv.bias) arrays->bias.assign(static_cast<size_t>(p.k), 0);
  std::copy(inputs->bias.begin(), inputs->bias.end(), arrays->bias.begin());
  PreparedCall call;
  call.run = [conv, arrays] { RunConv2dCase(conv, *arrays); };
  call.verify = [conv, arrays, inputs, seed = settings.seed] {
    RunConv2dCase(conv, *arrays);
    Conv2dOutput<double> output{Output(conv.problem, conv.direction, *arrays)};
    if (conv.direction == Conv2dDirection::kBackwardWeights) output.bias_gradient = arrays->bias;
    return CheckConv2d(conv, *inputs, output, seed);
  };
  call.algorithm = "plain loops";
  call.threads = 1;
  call.modelled = Conv2dWork(conv, "fp64.vector");
  call.memory = Regions(*arrays);
  return call;
}

Workload Read(const BenchmarkName& name) {
  ReadCase(name);
  return {};
}

[[maybe_unused]] const bool registered =
    RegisterCell({"Conv2D", "cpu", "reference", Read, "", Prepare});

}  // namespace
}  // namespace dlroof
