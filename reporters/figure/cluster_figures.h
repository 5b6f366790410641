// Figures of clusters: break-even of two clusters over nodes, cost against time, scaling of a
// training step, two clusters on one roofline, and a map of nodes and benchmarks. gnuplot draws
// them; text of a file is in a script only as GnuplotText.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counters/base/error.h"
#include "reporters/figure/figure.h"

namespace dlroof::figure {

struct BreakEvenPoint {
  int nodes = 1;
  double low = 0, middle = 0, high = 0;  // the ends of the band, and the bucketed overlap between
};

// One chart. Its values are samples per second [1/s] or the time of a step [s].
struct BreakEvenPanel {
  std::string title;
  std::vector<BreakEvenPoint> ours, theirs;  // by rising nodes; may be empty
  double goal = 0;                           // bucketed value of the other cluster's nodes
  std::optional<int> nodes;                  // least number of our nodes that reaches the goal
  std::optional<Reason> reason;              // set if `nodes` is not: "never: ..."
  std::optional<double> floor;               // [s] least time of the network
};

// Two charts side by side, for one type and library of a model.
struct BreakEvenRow {
  std::string ours, theirs, goal;  // names of the lines
  BreakEvenPanel rate, time;
};

struct BreakEvenFigure {
  std::vector<BreakEvenRow> rows;  // the first three are drawn
  std::string caption;
};

// Throws BadInput without a row.
std::string BreakEvenScript(const BreakEvenFigure& figure, const std::string& extension);

struct CostFigurePoint {
  int nodes = 1;
  double seconds = 0;  // [s] for the work, > 0
  double cost = 0;     // [currency] of it, > 0
  bool best = false;   // Pareto-optimal in seconds and cost
};

struct CostFigureLine {
  std::string title;
  std::vector<CostFigurePoint> points;  // by rising nodes
};

struct CostFigure {
  std::vector<CostFigureLine> lines;
  std::string work;      // "a million samples"
  std::string currency;  // "USD"
  std::string caption;   // names the prices
};

// Throws BadInput without a point.
std::string CostFigureScript(const CostFigure& figure, const std::string& extension);

struct ScaleFigurePoint {
  int nodes = 1;
  double none = 0, bucketed = 0, full = 0;  // [1/s] samples of all nodes, by kind of overlap
};

struct ScaleFigureBand {
  std::string title;
  std::vector<ScaleFigurePoint> points;  // by rising nodes, at least one
};

struct ScaleFigureMark {
  std::string label;
  std::vector<std::pair<int, double>> points;  // number of nodes, samples of all of them [1/s]
};

struct ScaleFigure {
  std::vector<ScaleFigureBand> bands;
  std::vector<ScaleFigureMark> measured;
  std::string caption;
};

// Throws BadInput without a band.
std::string ScaleFigureScript(const ScaleFigure& figure, const std::string& extension);

struct VersusPoint {
  double intensity = 0;         // [flop/byte] > 0
  double flops_per_second = 0;  // [flop/s] > 0
  bool noisy = false;           // drawn pale
};

// Operators that share op, direction, type and libraries have one colour.
struct VersusSeries {
  std::string name;
  std::vector<std::pair<VersusPoint, VersusPoint>> arrows;
};

struct VersusFigure {
  Level level = Level::kDram;
  Figure a, b;  // roofs at `level` of the number of threads that most records use
  std::string name_a, name_b;
  std::vector<VersusSeries> series;
};

// `pairs` has the indices of A's and B's records of each operator. The level is the one that most
// pairs know on both sides, the farthest of equals. Throws BadInput if no pair has FLOPs, bytes and
// ceilings on both sides.
VersusFigure MakeVersusFigure(const roofline::PlacedRun& a, const roofline::PlacedRun& b,
                              const std::vector<std::pair<std::size_t, std::size_t>>& pairs);

std::string VersusScript(const VersusFigure& figure, const std::string& extension);

// Writes .svg, .pdf or .png. Throws BadInput as WriteFigure does.
void WriteVersusFigure(const VersusFigure& figure, const std::string& path);

struct NodeMap {
  std::vector<std::string> nodes, benchmarks;
  // [%] by benchmark and node: additional time over the median node, if the node has a time
  std::vector<std::vector<std::optional<double>>> slower;
  // [%] by roof: difference of each node's rate from the median
  std::vector<std::pair<std::string, std::vector<double>>> roofs;
  std::string caption;
};

// Benchmarks have their names if they are few and the names are short; otherwise they are numbered
// from 1. Throws BadInput without a node or a benchmark.
std::string NodeMapScript(const NodeMap& map, const std::string& extension);

// Writes .svg, .pdf or .png. Throws BadInput as WriteFigure does.
void WriteNodeMap(const NodeMap& map, const std::string& path);

}  // namespace dlroof::figure
