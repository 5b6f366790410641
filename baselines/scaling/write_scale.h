// Scaling of a model over nodes as text for people and for programs, and the costs of training by
// the prices of two clusters' nodes. Pure.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "baselines/cluster/network.h"
#include "baselines/cluster/versus.h"
#include "baselines/formats/page_text.h"
#include "baselines/scaling/scaling.h"
#include "counters/base/error.h"

namespace dlroof::scaling {

// Break-even with the other cluster, by overlap: none, bucketed, full.
struct ScaleGoal {
  int nodes = 1;        // [1] of the other cluster
  double batch = 1;     // [1] samples on each of them
  StepSeconds step;     // of the other cluster
  std::string where;    // the other cluster's files
  std::string library;  // of the other cluster
  std::string network;  // of the other cluster
  std::vector<std::pair<std::string, BreakEven>> weak, strong;
  // Rows of both clusters for a figure, including the break-even's number of nodes: weak scaling
  // with their own samples per node, strong scaling with the samples of the goal's step.
  std::vector<ScaleRow> ours_weak, ours_strong, theirs_weak, theirs_strong;
  std::optional<double>
      floor_seconds;  // [s] least time of our allreduce; set if the model has gradients
};

// One type and library of a model.
struct ScaleCase {
  MeasuredSteps steps;
  double batch = 1;  // [1] samples per node in the weak rows
  std::vector<ScaleRow> weak;
  std::optional<double> batch_of_all;  // [1] in the strong rows; needs two measured batch sizes
  std::vector<ScaleRow> strong;
  std::optional<double> hiding_batch;  // [1]
  std::optional<ScaleGoal> goal;
};

// The price of one node.
struct NodePrice {
  double per_hour = 0;  // [currency/h] > 0
  std::string how;      // "1.2 USD per node and hour"
};

struct ScaleReport {
  std::string where;  // the files' names
  cluster::Network network;
  StepRules rules;
  std::vector<double> node_ratios;  // [1] of a cluster file's nodes; empty for a single node
  double parameter_bytes = 4;       // [byte] of one parameter's gradient
  std::vector<ScaleCase> cases;
  std::vector<cluster::SimulatedAllreduce> simulated;
  std::optional<Reason> simulation_failure;     // set if the simulation ended early
  std::vector<MeasuredScale> measured;          // throughput of a real program
  std::string currency;                         // "" without prices
  std::optional<NodePrice> price, their_price;  // of this and of the other cluster, if known
};

// Writes the tables, then their sources and assumptions. `width` [columns] of the terminal; lines
// are as long as they need for a width of 0.
void WriteScaleTable(const ScaleReport& report, int width, std::ostream& out);
void WriteScaleMarkdown(const ScaleReport& report, std::ostream& out);
// Writes a page with the figures: pairs of gnuplot's SVG and, if that is empty, the reason why
// there is none.
void WriteScalePage(const ScaleReport& report,
                    const std::vector<std::pair<std::string, std::string>>& figures,
                    std::ostream& out);
// Writes a line for each row with all digits.
void WriteScaleCsv(const ScaleReport& report, std::ostream& out);
nlohmann::json ScaleJson(const ScaleReport& report);

// Returns the price of one device, which counts as a node here, if a kind matches one of the
// machines. `devices` [1] per node is used if the price does not have it.
std::optional<NodePrice> DevicePrice(const cluster::Prices& prices,
                                     const std::vector<machine::Machine>& machines, int devices);

// Time and cost of a million samples on some nodes, with bucketed overlap.
struct CostPoint {
  int nodes = 1;
  double seconds = 0;  // [s]
  double cost = 0;     // [currency]
  bool best = false;   // Pareto-optimal: no other point of the case is at least as fast and cheap
};

struct CostLine {
  std::string title;
  std::vector<CostPoint> points;  // by rising nodes
};

// Returns the lines of a case: its weak rows, its strong ones, the other cluster's weak ones. There
// are none without prices.
std::vector<CostLine> CostLines(const ScaleCase& one, const ScaleReport& report);

// Returns sentences on the cheapest and the fastest of each line, and the prices.
std::vector<std::string> CostNotes(const ScaleCase& one, const ScaleReport& report);

}  // namespace dlroof::scaling
