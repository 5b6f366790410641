// Times that nodes take from each other: the same cluster measured at once and node after node.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/cluster/gather.h"

namespace dlroof {

// One node, measured beside the others and alone.
struct OrderEffect {
  std::string node;
  // [1] its time beside the others over that alone, the median over benchmarks
  double ratio = 1;
  std::optional<std::pair<double, double>> ci95;  // of the median; absent below six benchmarks
  std::size_t benchmarks = 0;                     // [1] with both times
  std::string worst;                              // the benchmark with the largest ratio
  double worst_ratio = 1;                         // [1]
};

// By the largest ratio. Throws BadInput where no node has a benchmark in both.
std::vector<OrderEffect> OrderEffects(const Cluster& together, const Cluster& alone);

}  // namespace dlroof
