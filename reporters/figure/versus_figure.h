// Two clusters on one roofline: the roofs of both, and an arrow from each operator's point on the
// first to its point on the second. Drawn by gnuplot.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reporters/figure/figure.h"

namespace dlroof::figure {

struct VersusPoint {
  double intensity = 0;         // [flop/byte] > 0
  double flops_per_second = 0;  // [flop/s] > 0
  bool disturbed = false;       // drawn pale
};

// Operators that share op, direction, type and libraries: a colour.
struct VersusSeries {
  std::string name;
  std::vector<std::pair<VersusPoint, VersusPoint>> arrows;
};

struct VersusFigure {
  Level level = Level::kDram;
  Figure a, b;  // roofs of the most threads in use, of `level`
  std::string name_a, name_b;
  std::vector<VersusSeries> series;
};

// `pairs`: indices of A's and B's records of one operator. The level is the one that most pairs
// know on both sides, the farthest of equals. Throws BadInput: no pair has FLOPs, bytes and
// ceilings on both sides.
VersusFigure MakeVersusFigure(const roofline::PlacedRun& a, const roofline::PlacedRun& b,
                              const std::vector<std::pair<std::size_t, std::size_t>>& pairs);

// Text of the files stands in the script as GnuplotText alone.
std::string VersusScript(const VersusFigure& figure, const std::string& extension);

// Writes .svg, .pdf or .png. Throws BadInput as WriteFigure.
void WriteVersusFigure(const VersusFigure& figure, const std::string& path);

}  // namespace dlroof::figure
