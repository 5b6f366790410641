// Scaling of a training step over nodes as a figure: a band of samples per second for each model.
// Drawn by gnuplot.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dlroof::figure {

struct ScaleFigurePoint {
  int nodes = 1;
  double none = 0, bucketed = 0, full = 0;  // [1/s] samples of all nodes, by overlap
};

struct ScaleFigureBand {
  std::string title;
  std::vector<ScaleFigurePoint> points;  // by rising nodes, at least one
};

struct ScaleFigureMark {
  std::string label;
  std::vector<std::pair<int, double>> points;  // nodes, and samples of all of them [1/s]
};

struct ScaleFigure {
  std::vector<ScaleFigureBand> bands;
  std::vector<ScaleFigureMark> measured;
  std::string caption;
};

// Text of the figure stands in the script as GnuplotText alone. Throws BadInput without a band.
std::string ScaleFigureScript(const ScaleFigure& figure, const std::string& extension);

}  // namespace dlroof::figure
