#include "baselines/scale/step.h"

#include <algorithm>
#include <cmath>
#include <ranges>

namespace dlroof {
namespace {

// Returns when the last bucket is summed up [s] after the step began.
double BucketedSeconds(const std::vector<StepLayer>& layers, const Network& network, int nodes,
                       double slowest, const StepRules& rules) {
  double now = 0, finished = 0, bucket = 0;  // [s], [s], [byte]
  for (const auto& layer : layers) now += slowest * layer.forward_seconds;
  const auto close = [&] {
    if (bucket == 0) return;
    finished =
        std::max(now, finished) + AllreduceOf(network, rules.algorithm, nodes, bucket).seconds;
    bucket = 0;
  };
  for (const auto& layer : layers | std::views::reverse) {
    now += slowest * layer.backward_seconds;
    bucket += layer.gradient_bytes;
    if (bucket >= rules.bucket_bytes) close();
  }
  close();
  return std::max(now, finished);
}

}  // namespace

double GradientBytes(const std::vector<StepLayer>& layers) {
  double bytes = 0;
  for (const auto& layer : layers) bytes += layer.gradient_bytes;
  return bytes;
}

double ComputeSeconds(const std::vector<StepLayer>& layers) {
  double seconds = 0;
  for (const auto& layer : layers) seconds += layer.forward_seconds + layer.backward_seconds;
  return seconds;
}

StepSeconds SecondsOfStep(const std::vector<StepLayer>& layers, const Network& network, int nodes,
                          double slowest, const StepRules& rules) {
  const double bytes = GradientBytes(layers);
  const auto whole = AllreduceOf(network, rules.algorithm, nodes, bytes);
  StepSeconds step{.compute = slowest * ComputeSeconds(layers),
                   .allreduce = whole.seconds,
                   .bound = AllreduceBound(network, nodes, bytes),
                   .algorithm = whole.algorithm};
  step.none = step.compute + step.allreduce;
  step.bucketed = BucketedSeconds(layers, network, nodes, slowest, rules);
  step.full = std::max(step.compute, step.allreduce);
  return step;
}

double ExpectedLargest(std::vector<double> measured, int n) {
  std::ranges::sort(measured);
  const auto count = static_cast<double>(measured.size());
  double expected = 0, before = 0;  // probability that the largest is among those so far
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const double now = std::pow(static_cast<double>(i + 1) / count, n);
    expected += measured[i] * (now - before);
    before = now;
  }
  return expected;
}

}  // namespace dlroof
