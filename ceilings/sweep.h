// Bandwidth over working sets: which sizes to measure, and where the memory levels end. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ceilings/machine.h"

namespace dlroof {

// [byte] working sets of one thread from 4 KiB up to `largest_bytes`, four per octave.
std::vector<double> SweepSizes(double largest_bytes);

// Where a level ends.
struct CapacityEdge {
  double bytes = 0;              // [byte] the curve falls beyond this working set
  double before = 0, after = 0;  // [byte/s] the rates between which it falls
};

// The edges of a curve by rising working set. Each rate counts as at least that of every larger
// working set, since a disturbance only slows. The curve falls where a step loses 3 % or more;
// falls with fewer than four points between them are one, for a level is at least that long (an
// octave); an edge is a fall of 12 % or more to at least four points. It lies where a quarter of
// the fall, in logarithms, has happened. A level that is all slope is not found.
std::vector<CapacityEdge> FindCapacityEdges(const std::vector<SweepPoint>& curve);

// What the curve says of a cache of which one thread's share is `share_bytes`: "the curve falls at
// 1.1 MiB, hwloc says 1 MiB: they agree" within a factor of 1.5, else that they disagree; or that
// it does not fall within a factor of 4.
std::string EdgeSentence(const std::vector<CapacityEdge>& edges, double share_bytes);

}  // namespace dlroof
