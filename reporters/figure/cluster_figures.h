// Break-even of two clusters over nodes: samples per second, and the time of one step of the same
// samples, with the least number of nodes marked. Drawn by gnuplot.
//
// Cost against time: a line of numbers of nodes for each cluster. Drawn by gnuplot.
//
// Scaling of a training step over nodes as a figure: a band of samples per second for each model.
// Drawn by gnuplot.
//
// Two clusters on one roofline: the roofs of both, and an arrow from each operator's point on the
// first to its point on the second. Drawn by gnuplot.
//
// The nodes of a cluster as a figure: a map of nodes and benchmarks, and the spread of each roof
// over nodes. Drawn by gnuplot.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reporters/figure/figure.h"

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

struct VersusPoint {
  double intensity = 0;         // [flop/byte] > 0
  double flops_per_second = 0;  // [flop/s] > 0
  bool noisy = false;           // drawn pale
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
