// gnuplot scripts for clusters: break-even number of nodes of two clusters, cost against time,
// scaling of a training step, two clusters on one roofline, and a map of nodes and benchmarks. Text
// from files is inserted into scripts only by GnuplotText().
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
  double low = 0, middle = 0, high = 0;  // band from low to high; middle: bucketed overlap
};

// One chart over the number of nodes: samples per second [1/s] or the time of a step [s].
struct BreakEvenPanel {
  std::string title;
  std::vector<BreakEvenPoint> ours, theirs;  // by rising nodes; may be empty
  double goal = 0;                           // value of the other cluster with bucketed overlap
  std::optional<int> nodes;                  // least number of our nodes that reaches `goal`
  std::optional<Reason> reason;              // why `nodes` is not set: "never: ..."
  std::optional<double> floor;               // [s] minimum time of an allreduce
};

// Two charts side by side, for one model, data type and library.
struct BreakEvenRow {
  std::string ours, theirs, goal;  // names of the lines
  BreakEvenPanel rate, time;
};

struct BreakEvenFigure {
  std::vector<BreakEvenRow> rows;  // the first three are drawn
  std::string caption;
};

// Throws BadInput if `figure` has no row.
std::string BreakEvenScript(const BreakEvenFigure& figure, const std::string& extension);

struct CostFigurePoint {
  int nodes = 1;
  double seconds = 0;  // [s] time of CostFigure::work, > 0
  double cost = 0;     // [CostFigure::currency] of the work, > 0
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
  std::string caption;   // lists the prices
};

// Throws BadInput if `figure` has no point.
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

// Throws BadInput if `figure` has no band.
std::string ScaleFigureScript(const ScaleFigure& figure, const std::string& extension);

struct VersusPoint {
  double intensity = 0;         // [flop/byte] > 0
  double flops_per_second = 0;  // [flop/s] > 0
  bool noisy = false;           // drawn pale
};

// Benchmarks with the same op and type, drawn in one colour.
struct VersusSeries {
  std::string name;
  std::vector<std::pair<VersusPoint, VersusPoint>> arrows;
};

struct VersusFigure {
  Level level = Level::kDram;
  Figure a, b;                 // roofs at `level` for the number of threads of most records
  std::string name_a, name_b;  // for the text below the figure; callers may set them
  std::vector<VersusSeries> series;
  std::size_t drawn = 0, operators = 0;  // [1] pairs with bytes at `level` on both sides, all pairs
};

// Each of `pairs` has the indices of a record in `a` and of a record in `b` for the same operator.
// The level is the one whose bytes most pairs know on both sides; of tied levels the farthest.
// Throws BadInput if no pair has FLOPs, bytes and ceilings on both sides.
VersusFigure MakeVersusFigure(const roofline::PlacedRun& a, const roofline::PlacedRun& b,
                              const std::vector<std::pair<std::size_t, std::size_t>>& pairs);

std::string VersusScript(const VersusFigure& figure, const std::string& extension);

// Writes .svg, .pdf or .png. Throws BadInput as WriteFigure does.
void WriteVersusFigure(const VersusFigure& figure, const std::string& path);

struct NodeMap {
  std::vector<std::string> nodes, benchmarks;
  // [%] By benchmark and node: additional time over the median node; not set without a time.
  std::vector<std::vector<std::optional<double>>> slower;
  // [%] By roof: difference of each node's rate from the median node.
  std::vector<std::pair<std::string, std::vector<double>>> roofs;
  std::string caption;
};

// Labels benchmarks by name if they are few and their names are short, otherwise by number from 1.
// Throws BadInput if `map` has no node or no benchmark.
std::string NodeMapScript(const NodeMap& map, const std::string& extension);

// Writes .svg, .pdf or .png. Throws BadInput as WriteFigure does.
void WriteNodeMap(const NodeMap& map, const std::string& path);

}  // namespace dlroof::figure
