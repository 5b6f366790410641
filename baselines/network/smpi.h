// Allreduce on a simulated network, by SimGrid's SMPI: the library's own algorithm, message by
// message, where the closed forms are formulas.
#pragma once

#include <string>
#include <vector>

#include "baselines/network/allreduce.h"
#include "counters/base/error.h"

namespace dlroof::cluster {

// smpirun refused the network, or it ended without a time.
struct SimulationFailed : BadInput {
  using BadInput::BadInput;
};

// Returns the platform: `nodes` nodes with a link each to one switch, so that a message between two
// takes the network's latency and bandwidth. Large messages' latency and bandwidth count for all.
std::string SmpiPlatform(const Network& network, int nodes);

// Returns one rank's trace: an allreduce of `elements` floats.
std::string SmpiTrace(int nodes, long elements);

struct SimulatedAllreduce {
  int nodes = 2;
  double bytes = 0;  // [byte] of each node: a multiple of 4 x nodes
  Allreduce algorithm = Allreduce::kRing;
  double closed_seconds = 0;     // [s] closed form of the same network
  double simulated_seconds = 0;  // [s]
};

// Runs smpirun. `bytes` is rounded up to a multiple of 4 x nodes. Throws BadInput: it is not
// installed. Throws SimulationFailed.
SimulatedAllreduce SimulateAllreduce(const Network& network, Allreduce algorithm, int nodes,
                                     double bytes);

}  // namespace dlroof::cluster
