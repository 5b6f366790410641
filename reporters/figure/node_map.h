// The nodes of a cluster as a figure: a map of nodes and benchmarks, and the spread of each roof
// over nodes. Drawn by gnuplot.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlroof::figure {

struct NodeMap {
  std::vector<std::string> nodes, benchmarks;
  // [%] by benchmark and node: more time than the median node; absent: no time there
  std::vector<std::vector<std::optional<double>>> slower;
  // [%] by roof: how far each node's rate is from the median
  std::vector<std::pair<std::string, std::vector<double>>> roofs;
  std::string caption;
};

// Few benchmarks with short names are named, else numbered from 1. Text of the map stands in the
// script as GnuplotText alone. Throws BadInput without a node or a benchmark.
std::string NodeMapScript(const NodeMap& map, const std::string& extension);

// Writes .svg, .pdf or .png. Throws BadInput as WriteFigure.
void WriteNodeMap(const NodeMap& map, const std::string& path);

}  // namespace dlroof::figure
