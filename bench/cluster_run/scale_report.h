// The report of `dlroof cluster scale`, and the models whose layers runs have, which `dlroof
// cluster versus` uses too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/cluster/versus_models.h"
#include "baselines/scaling/scaling.h"
#include "baselines/scaling/write_scale.h"

namespace dlroof::cluster_run {

// Returns whether an option of a name selects how a library works (its layout, algorithm or
// threads), not what it computes.
bool IsMannerOption(std::string_view option);

// Returns the models of the suites, or without suites those that both runs name. Throws BadInput as
// SelectSuites does.
std::vector<cluster::Model> ModelsOfSuites(const std::vector<std::string>& suites,
                                           const cluster::VersusCluster& a,
                                           const cluster::VersusCluster& b);

// Returns the number of devices of a node, if the run file has it.
std::optional<int> DevicesPerNode(const record::RunFile& file);

// Returns the shape of the record's layer, or nothing if its operator has no parameters or its name
// is another program's.
std::optional<scaling::LayerShape> ShapeOfRecord(const record::Record& record);

struct ScaleFlags {
  std::string files;  // run files separated by commas, or a cluster file
  std::string network;
  std::vector<std::string> suites;
  std::optional<std::string> type, library;  // use only these
  std::string nodes = "1:1024";              // "1:1024" or "1,2,3"
  std::optional<double> batch_per_node, batch_of_all;
  std::string allreduce = "best";
  double bucket_bytes = 25e6;                           // [byte]
  int parameter_bytes = 4;                              // [byte]
  std::optional<std::string> against, against_network;  // files
  int against_nodes = 1;
  bool simulate = false;
  int most_simulated = 256;             // [1] nodes
  std::optional<std::string> prices;    // file of prices
  std::string figure = "scaling";       // of x.svg, x.pdf and x.png; or "break-even", "cost"
  std::optional<std::string> measured;  // CSV file of a program's throughput
  std::vector<std::string> outputs;
};

// Throws BadInput for files that cannot be read, flags that do not fit them, and models without a
// trained layer.
scaling::ScaleReport MakeScaleReport(const ScaleFlags& flags);

// Parses "1,2,5", or "3:40" (3, the powers of two between, and 40). Throws BadInput for other
// texts.
std::vector<int> ReadNodeCounts(const std::string& text);

}  // namespace dlroof::cluster_run
