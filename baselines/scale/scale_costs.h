// Costs of training over nodes, by the prices of two clusters' nodes. Pure.
#pragma once

#include <string>
#include <vector>

#include "baselines/scale/write_scale.h"
#include "baselines/versus/prices.h"

namespace dlroof::scaling {

// Returns the price of one of the run's devices, which counts as a node; absent: no kind matches
// one of its machines. `devices`: [1] of a node where the price does not say.
std::optional<NodePrice> DevicePrice(const cluster::Prices& prices, const std::vector<machine::Machine>& machines,
                                     int devices);

// Time and cost of a million samples on some nodes, in buckets.
struct CostPoint {
  int nodes = 1;
  double seconds = 0;  // [s]
  double cost = 0;     // [currency]
  bool best = false;   // no other point of the case is as fast and as cheap, and better in one
};

struct CostLine {
  std::string title;
  std::vector<CostPoint> points;  // by rising nodes
};

// Returns the lines of a case: its weak rows, its strong ones, the other cluster's weak ones.
// Without prices there are none.
std::vector<CostLine> CostLines(const ScaleCase& one, const ScaleReport& report);

// Sentences: the cheapest and the fastest of each line, and what the prices are.
std::vector<std::string> CostNotes(const ScaleCase& one, const ScaleReport& report);

}  // namespace dlroof::scaling
