// One data-parallel training step on n nodes: each computes its own samples, and an allreduce sums
// up the gradients. Pure.
#pragma once

#include <optional>
#include <vector>

#include "baselines/network/allreduce.h"

namespace dlroof {

// One layer of a model on one node.
struct StepLayer {
  double forward_seconds = 0;   // [s]
  double backward_seconds = 0;  // [s] both gradients
  double gradient_bytes = 0;    // [byte]
};

struct StepRules {
  double bucket_bytes = 25e6;          // [byte] gradients that are summed up together
  std::optional<Allreduce> algorithm;  // absent: the fastest for each size
};

// [s] of one step, by how much the allreduce overlaps with the backward pass.
struct StepSeconds {
  double compute = 0;    // forward and backward passes of the slowest node
  double allreduce = 0;  // of all gradients at once
  double bound = 0;      // that no allreduce is faster than
  double none = 0;       // the allreduce follows the backward pass
  double bucketed = 0;   // the allreduce of each bucket follows the one before and its own layers
  double full = 0;       // the longer of computing and the allreduce
  Allreduce algorithm = Allreduce::kRing;  // of all gradients at once

  bool operator==(const StepSeconds&) const = default;
};

// Returns the times of a step. `layers`: in the order of the forward pass. `slowest`: [1] time that
// the slowest of the nodes takes to compute, over the layers' own. A bucket takes layers from the
// last to the first, and closes when it has bucket_bytes.
StepSeconds SecondsOfStep(const std::vector<StepLayer>& layers, const Network& network, int nodes,
                          double slowest, const StepRules& rules);

// Returns the expected largest of n values that are drawn, each by itself, from `measured`, which
// is not empty: never more than the largest that was measured.
double ExpectedLargest(std::vector<double> measured, int n);

double GradientBytes(const std::vector<StepLayer>& layers);
double ComputeSeconds(const std::vector<StepLayer>& layers);

}  // namespace dlroof
