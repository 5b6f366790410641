#include "baselines/scale/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reporters/text/units.h"

namespace dlroof {
namespace {

double SlowestOf(const ScaledCluster& cluster, int nodes) {
  return cluster.node_ratios.empty() ? 1 : ExpectedLargest(cluster.node_ratios, nodes);
}

StepSeconds StepOn(const ScaledCluster& cluster, const std::vector<StepLayer>& layers, int nodes) {
  return SecondsOfStep(layers, *cluster.network, nodes, SlowestOf(cluster, nodes), cluster.rules);
}

ScaleRow RowOf(const StepSeconds& step, int nodes, double batch, double samples) {
  return {.nodes = nodes,
          .batch = batch,
          .step = step,
          .samples_per_second_none = samples / step.none,
          .samples_per_second_bucketed = samples / step.bucketed,
          .samples_per_second_full = samples / step.full};
}

// Returns the samples of the node with the most.
double BatchPerNode(double batch, int nodes) { return std::ceil(batch / nodes); }

std::optional<double> StrongSeconds(const ScaledCluster& cluster, double batch, int nodes,
                                    Overlap overlap) {
  const auto layers = LayersAt(*cluster.steps, BatchPerNode(batch, nodes));
  if (!layers) return std::nullopt;
  return SecondsOf(StepOn(cluster, *layers, nodes), overlap);
}

std::string NeverUpTo() { return fmt::format("never up to {} nodes", kMostNodes); }

}  // namespace

double NetworkFloor(const ScaledCluster& cluster) {
  const double bytes = GradientBytes(cluster.steps->at.begin()->second);
  return AllreduceOf(*cluster.network, cluster.rules.algorithm, 2, bytes).seconds;
}

std::vector<ScaleRow> WeakScaling(const ScaledCluster& cluster, double batch,
                                  const std::vector<int>& nodes) {
  std::vector<ScaleRow> rows;
  const auto layers = LayersAt(*cluster.steps, batch);
  if (!layers) return rows;
  const double alone = StepOn(cluster, *layers, 1).bucketed;
  for (const int n : nodes) {
    rows.push_back(RowOf(StepOn(cluster, *layers, n), n, batch, n * batch));
    rows.back().efficiency = alone / rows.back().step.bucketed;
  }
  return rows;
}

std::vector<ScaleRow> StrongScaling(const ScaledCluster& cluster, double batch,
                                    const std::vector<int>& nodes) {
  std::vector<ScaleRow> rows;
  const auto alone = StrongSeconds(cluster, batch, 1, Overlap::kBucketed);
  for (const int n : nodes) {
    const double of_node = BatchPerNode(batch, n);
    const auto layers = LayersAt(*cluster.steps, of_node);
    if (!layers || n > batch) continue;
    rows.push_back(RowOf(StepOn(cluster, *layers, n), n, of_node, batch));
    if (alone) rows.back().efficiency = *alone / (n * rows.back().step.bucketed);
  }
  return rows;
}

std::optional<double> HidingBatch(const ScaledCluster& cluster, double batch) {
  const auto layers = LayersAt(*cluster.steps, batch);
  if (!layers) return std::nullopt;
  return 2 * GradientBytes(*layers) / Bandwidth(*cluster.network) /
         (ComputeSeconds(*layers) / batch);
}

double SecondsOf(const StepSeconds& step, Overlap overlap) {
  switch (overlap) {
    case Overlap::kNone:
      return step.none;
    case Overlap::kBucketed:
      return step.bucketed;
    case Overlap::kFull:
      break;
  }
  return step.full;
}

BreakEven WeakBreakEven(const ScaledCluster& cluster, double batch, double samples_per_second,
                        Overlap overlap) {
  const auto layers = LayersAt(*cluster.steps, batch);
  if (!layers) return {.nodes = std::nullopt, .why = "cannot say: this batch was not measured"};
  for (int n = 1; n <= kMostNodes; ++n)
    if (n * batch / SecondsOf(StepOn(cluster, *layers, n), overlap) >= samples_per_second)
      return {.nodes = n, .why = ""};
  return {.nodes = std::nullopt, .why = NeverUpTo()};
}

BreakEven StrongBreakEven(const ScaledCluster& cluster, double batch, double seconds,
                          Overlap overlap) {
  const auto& steps = *cluster.steps;
  const int most = static_cast<int>(std::min<double>(batch, kMostNodes));
  bool all_known = true;
  for (int n = 1; n <= most; ++n) {
    const auto step = StrongSeconds(cluster, batch, n, overlap);
    if (step && *step <= seconds) return {.nodes = n, .why = ""};
    all_known = all_known && step.has_value();
  }
  const double floor = NetworkFloor(cluster);
  // A larger batch than the largest measured one takes no less time.
  const double computing = ComputeSeconds(steps.at.rbegin()->second);
  const bool not_alone = all_known || StrongSeconds(cluster, batch, 1, overlap) ||
                         (batch > static_cast<double>(steps.most_batch()) && computing > seconds);
  if (floor > seconds && not_alone)
    return {.nodes = std::nullopt,
            .why = fmt::format("never: the network's floor is {}", WithPrefix(floor, "s"))};
  if (all_known)
    return {.nodes = std::nullopt,
            .why = fmt::format("never: {} samples are too few for more nodes", ThreeDigits(batch))};
  return {.nodes = std::nullopt,
          .why = fmt::format("cannot say: batch sizes per node from {} to {} were measured",
                             steps.least_batch(), steps.most_batch())};
}

}  // namespace dlroof
