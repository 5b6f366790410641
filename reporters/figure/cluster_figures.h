// gnuplot scripts for clusters: two clusters on one roofline, and a map of nodes and benchmarks.
// Text from files is inserted into scripts only by GnuplotText().
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reporters/figure/figure.h"

namespace dlroof::figure {

// Benchmarks with the same op and type, drawn in one colour.
struct VersusSeries {
  std::string name;
  std::vector<std::pair<roofline::ClassicMark, roofline::ClassicMark>> arrows;
};

struct VersusFigure {
  Figure a, b;                 // roofs for the number of threads of most records
  std::string name_a, name_b;  // names in the text below the figure; callers may change them
  std::vector<VersusSeries> series;
  std::size_t drawn = 0, operators = 0;  // [1] pairs with bytes on both sides, all pairs
};

// Each of `pairs` has the indices of a record in `a` and of a record in `b` for the same operator.
// Throws BadInput if no pair has FLOPs, bytes and ceilings on both sides.
VersusFigure MakeVersusFigure(const roofline::PlacedRun& a, const roofline::PlacedRun& b,
                              const std::vector<std::pair<std::size_t, std::size_t>>& pairs);

std::string VersusScript(const VersusFigure& figure, const std::string& extension);

struct NodeMap {
  std::vector<std::string> nodes, benchmarks;
  // [%] By benchmark and node: difference of the node's time from the median node's, if it has one.
  std::vector<std::vector<std::optional<double>>> slower;
  // [%] By roof: difference of each node's rate from the median node's.
  std::vector<std::pair<std::string, std::vector<double>>> roofs;
  std::string caption;
};

// Draws a row per benchmark and a column per node. Throws BadInput if `map` has no node or no
// benchmark.
std::string NodeMapScript(const NodeMap& map, const std::string& extension);

}  // namespace dlroof::figure
