// Scaling of a model over nodes as text for people and for programs.
//
// Costs of training over nodes, by the prices of two clusters' nodes. Pure.
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

namespace dlroof::scaling {

// Break-even with the other cluster by overlap: none, bucketed, full.
struct ScaleGoal {
  int nodes = 1;        // [1] of the other cluster
  double batch = 1;     // [1] samples of each of them
  StepSeconds step;     // theirs
  std::string where;    // the other cluster's files
  std::string library;  // theirs
  std::string network;  // theirs
  std::vector<std::pair<std::string, BreakEven>> weak, strong;
  // Rows for a figure: of both clusters with their samples per node, and with the samples of the
  // other cluster's `nodes` in one step. They have a row of the break-even's nodes.
  std::vector<ScaleRow> ours_weak, ours_strong, theirs_weak, theirs_strong;
  std::optional<double>
      floor_seconds;  // [s] of an allreduce of ours on two nodes; absent: no bytes
};

// One type and library of a model.
struct ScaleCase {
  MeasuredSteps steps;
  double batch = 1;  // [1] samples per node of the weak rows
  std::vector<ScaleRow> weak;
  std::optional<double> batch_of_all;  // [1] of the strong rows; absent: one batch size is known
  std::vector<ScaleRow> strong;
  std::optional<double> hiding_batch;  // [1]
  std::optional<ScaleGoal> goal;
};

// The price of what counts as a node.
struct NodePrice {
  double per_hour = 0;  // [currency/h] > 0
  std::string how;      // "1.2 USD per node and hour"
};

struct ScaleReport {
  std::string where;  // the files' names
  cluster::Network network;
  StepRules rules;
  std::vector<double> node_ratios;  // [1] of a cluster file's nodes; empty: one node
  double parameter_bytes = 4;       // [byte] of one parameter's gradient
  std::vector<ScaleCase> cases;
  std::vector<cluster::SimulatedAllreduce>
      simulated;                                // empty: nobody asked for it, or none succeeded
  std::string simulation_failure;                    // why the simulation ended early; empty: it did not
  std::vector<MeasuredScale> measured;          // of a program; empty: no file
  std::string currency;                         // empty: no prices
  std::optional<NodePrice> price, their_price;  // of the other cluster; absent: there is none
};

// Tables as wide as the terminal (`width` [columns], 0: no limit), then what they rest on.
void WriteScaleTable(const ScaleReport& report, int width, std::ostream& out);
void WriteScaleMarkdown(const ScaleReport& report, std::ostream& out);
// A page with the figures, each gnuplot's SVG, or where that is empty the sentence why there is
// none.
void WriteScalePage(const ScaleReport& report,
                    const std::vector<std::pair<std::string, std::string>>& figures,
                    std::ostream& out);
// A line for each row with every digit.
void WriteScaleCsv(const ScaleReport& report, std::ostream& out);
nlohmann::json ScaleJson(const ScaleReport& report);

// Returns the price of one of the run's devices, which counts as a node; absent: no kind matches
// one of its machines. `devices`: [1] of a node where the price does not say.
std::optional<NodePrice> DevicePrice(const cluster::Prices& prices,
                                     const std::vector<machine::Machine>& machines, int devices);

// Time and cost of a million samples on some nodes, in buckets.
struct CostPoint {
  int nodes = 1;
  double seconds = 0;  // [s]
  double cost = 0;     // [currency]
  bool best = false;   // no other point of the case is as fast and as cheap, and better in one
};

struct CostLine {
  std::string title;
  std::vector<CostPoint> points;  // by rising nodes
};

// Returns the lines of a case: its weak rows, its strong ones, the other cluster's weak ones.
// Without prices there are none.
std::vector<CostLine> CostLines(const ScaleCase& one, const ScaleReport& report);

// Sentences: the cheapest and the fastest of each line, and what the prices are.
std::vector<std::string> CostNotes(const ScaleCase& one, const ScaleReport& report);

}  // namespace dlroof::scaling
