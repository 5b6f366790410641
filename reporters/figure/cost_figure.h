// Cost against time: a line of numbers of nodes for each cluster. Drawn by gnuplot.
#pragma once

#include <string>
#include <vector>

namespace dlroof::figure {

struct CostFigurePoint {
  int nodes = 1;
  double seconds = 0;  // [s] for the work, > 0
  double cost = 0;     // [currency] of it, > 0
  bool best = false;   // no other point is as fast and as cheap, and better in one of the two
};

struct CostFigureLine {
  std::string title;
  std::vector<CostFigurePoint> points;  // by rising nodes
};

struct CostFigure {
  std::vector<CostFigureLine> lines;
  std::string work;      // "a million samples"
  std::string currency;  // "USD"
  std::string caption;   // what the prices are
};

// Text of the figure stands in the script as GnuplotText alone. Throws BadInput without a point.
std::string CostFigureScript(const CostFigure& figure, const std::string& extension);

}  // namespace dlroof::figure
