// Writes a model's predicted scaling over nodes and its training costs on two clusters. Pure.
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

// Another cluster (--against) and how many of this cluster's nodes train as fast as it does.
struct ScaleGoal {
  int nodes = 1;        // [1] number of the other cluster's nodes
  double batch = 1;     // [1] samples per step on each of these nodes
  StepSeconds step;     // of the other cluster
  std::string where;    // the other cluster's files
  std::string library;  // of the other cluster
  std::string network;  // of the other cluster
  std::vector<std::pair<std::string, BreakEven>> weak, strong;
  // Rows of this ("ours") and the other cluster ("theirs") for a figure, including the break-even's
  // number of nodes. Weak: each cluster's own samples per node. Strong: all samples of `step`.
  std::vector<ScaleRow> ours_weak, ours_strong, theirs_weak, theirs_strong;
  std::optional<double>
      floor_seconds;  // [s] least time of this cluster's allreduce; set if the model has gradients
};

// The predictions for one data type and library of a model.
struct ScaleCase {
  MeasuredSteps steps;
  double batch = 1;  // [1] samples per node in the weak rows
  std::vector<ScaleRow> weak;
  std::optional<double> batch_of_all;  // [1] samples in the strong rows; needs two batch sizes
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
  std::vector<double> node_ratios;  // [1] node's time / median node's; empty for a single node
  double parameter_bytes = 4;       // [byte] of one parameter's gradient
  std::vector<ScaleCase> cases;
  std::vector<cluster::SimulatedAllreduce> simulated;
  std::optional<Reason> simulation_failure;     // set if the simulation ended early
  std::optional<Reason> not_simulated;          // why `simulated` has only closed forms
  std::optional<double> dram_bytes_per_second;  // [byte/s] of a node, if its roof is known
  std::vector<MeasuredScale> measured;          // throughput of a real program
  std::string currency;                         // "" without prices
  std::optional<NodePrice> price, their_price;  // of this and of the other cluster, if known
};

// Writes the tables, their sources and assumptions. `width` [columns] of the terminal, 0: no limit.
void WriteScaleTable(const ScaleReport& report, int width, std::ostream& out);
void WriteScaleMarkdown(const ScaleReport& report, std::ostream& out);
// Writes a page with the figures: pairs of an SVG and the reason why the SVG is empty, if it is.
void WriteScalePage(const ScaleReport& report,
                    const std::vector<std::pair<std::string, std::string>>& figures,
                    std::ostream& out);
// Writes a CSV line per row, all digits.
void WriteScaleCsv(const ScaleReport& report, std::ostream& out);
nlohmann::json ScaleJson(const ScaleReport& report);

// Returns the price of one device (a node of the scaling model) if `prices` has a kind for one of
// the machines: the node's price divided by the kind's devices per node, or by `devices` [1].
std::optional<NodePrice> DevicePrice(const cluster::Prices& prices,
                                     const std::vector<machine::Machine>& machines, int devices);

// Time and cost of training a million samples on `nodes` nodes, with bucketed overlap.
struct CostPoint {
  int nodes = 1;
  double seconds = 0;  // [s]
  double cost = 0;     // [currency]
  bool best = false;   // Pareto-optimal in time and cost over all lines of the case
};

struct CostLine {
  std::string title;
  std::vector<CostPoint> points;  // by rising nodes
};

// Returns the costs of the weak, the strong, and the other cluster's weak rows; none without
// prices.
std::vector<CostLine> CostLines(const ScaleCase& one, const ScaleReport& report);

// Returns sentences on the cheapest and the fastest point of each line, and the prices.
std::vector<std::string> CostNotes(const ScaleCase& one, const ScaleReport& report);

}  // namespace dlroof::scaling
