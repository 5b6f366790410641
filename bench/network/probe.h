// Measures a network: messages between pairs of ranks, and allreduces.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "baselines/network/measured_network.h"
#include "bench/network/messages.h"

namespace dlroof {

struct ProbeRules {
  std::size_t most_bytes = 4 << 20;  // [byte] largest message, a multiple of 4
  int repetitions = 9;               // [1] of each size
  int least_repetitions = 3;         // [1] of sizes that take longer than `most_seconds`
  double most_seconds = 1;           // [s] of a size and direction
  int all_pairs = 8;                 // [1] ranks up to which every pair is measured, one by one
  int matchings = 6;                 // [1] beyond: random pairings of all, each at once
};

// Returns the pairings in order; pairs of one pairing send at the same time. Up to rules.all_pairs
// ranks each pairing is one pair, beyond it holds every rank once (but for one of an odd number),
// the same on every rank.
std::vector<std::vector<std::pair<int, int>>> Pairings(int ranks, const ProbeRules& rules);

// Sizes of messages [byte]: 8, 16, 32, ... up to most_bytes, with half of that.
std::vector<std::size_t> Sizes(const ProbeRules& rules);

// Returns the network on rank 0, nothing on the others. Every rank calls it. A message's time is
// that of sending it and an empty answer, less half of an empty message both ways.
std::optional<MeasuredNetwork> MeasureNetwork(Messages& messages, const ProbeRules& rules);

}  // namespace dlroof
