// Slow nodes and links of a measured network. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baselines/network/measured_network.h"

namespace dlroof::cluster {

inline constexpr double kSlowLink = 0.9;           // [1] of the median: slower counts
inline constexpr std::size_t kLeastLinkRanks = 3;  // below, nobody can say which is the slow one

// A node that sends or receives slowly whoever the other one is, or a link that is slower than both
// its nodes.
struct SlowLink {
  std::optional<std::size_t> from, to;  // ranks; one is absent where a node is slow
  double bytes_per_second = 0;          // [byte/s] of the largest size; a node's best
  double ratio = 1;                     // [1] of the median node's, or of the slower of its nodes
};

// Returns them by how slow they are. A node's rate in a direction is the best of its partners'.
// Empty below kLeastLinkRanks ranks.
std::vector<SlowLink> SlowLinks(const MeasuredNetwork& measured);

// The best rate of each rank in one direction [byte/s]; absent: not measured.
using BestRates = std::vector<std::optional<double>>;
// Returns those of one end of each pair: &PairTimes::from sends, &PairTimes::to receives.
BestRates BestOf(const MeasuredNetwork& measured, std::size_t PairTimes::*end);

// Returns the rate of the largest size [byte/s]; absent without a point.
std::optional<double> RateOf(const PairTimes& pair);

// Sentences: how the network was measured, its fit and proof, and what is slow.
std::vector<std::string> NetworkNotes(const MeasuredNetwork& measured);

}  // namespace dlroof::cluster
