// Break-even of two clusters over nodes: samples per second, and the time of one step of the same
// samples, with the least number of nodes marked. Drawn by gnuplot.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlroof::figure {

struct BreakEvenPoint {
  int nodes = 1;
  double low = 0, middle = 0, high = 0;  // by overlap: the two ends of the band, and in buckets
};

// One chart. Values are samples per second [1/s], or seconds of a step [s].
struct BreakEvenPanel {
  std::string title;
  std::vector<BreakEvenPoint> ours, theirs;  // by rising nodes; may be empty
  double goal = 0;                           // of the other cluster's nodes, in buckets
  std::optional<int> nodes;                  // least nodes of ours that reach it; absent: `why_not`
  std::string why_not;                       // "never: ..." or "cannot say: ..."
  std::optional<double> floor;               // the network's least time [s]; absent: none is drawn
};

// A row of two charts: one type and library of a model.
struct BreakEvenRow {
  std::string ours, theirs, goal;  // names of the lines
  BreakEvenPanel rate, time;
};

struct BreakEvenFigure {
  std::vector<BreakEvenRow> rows;  // the first three are drawn
  std::string caption;
};

// Text of the figure stands in the script as GnuplotText alone. Throws BadInput without a row.
std::string BreakEvenScript(const BreakEvenFigure& figure, const std::string& extension);

}  // namespace dlroof::figure
