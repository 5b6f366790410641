// Where time can be won: the benchmarks with most time above their roofs. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "reporters/roofline/placed_run.h"

namespace dlroof {

struct Opportunity {
  std::size_t record = 0;         // index into the run's records
  double count = 1;               // [1] times that it occurs in the run's models; 1 in none of them
  double seconds = 0;             // [s] of all occurrences
  double above_roof_seconds = 0;  // [s] of these, more than its roofs ask for
};

// Returns those with a proved roof and a time above it, the most time first, `most` at the most.
std::vector<Opportunity> Opportunities(const PlacedRun& run, std::size_t most = 5);

}  // namespace dlroof
