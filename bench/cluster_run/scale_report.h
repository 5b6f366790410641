// Models whose layers two clusters or many nodes run: by the suites that a user names, or by those
// that the runs name.
//
// The report of `dlroof cluster scale`, from files and flags.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/cluster/versus_models.h"
#include "baselines/scaling/scaling.h"
#include "baselines/scaling/write_scale.h"

namespace dlroof::cluster_run {

// Returns whether an option says how a library works: its layout, algorithm or threads.
bool IsMannerOption(std::string_view option);

// Returns the models of the suites, or of both runs where `suites` is empty. Throws BadInput as
// SelectSuites.
std::vector<cluster::Model> ModelsOfSuites(const std::vector<std::string>& suites,
                                           const cluster::VersusCluster& a,
                                           const cluster::VersusCluster& b);

// Returns how many devices a node of the run has, by the run itself; absent where it does not say.
std::optional<int> DevicesPerNode(const record::RunFile& file);

// Returns the shape of a record by its op's row; absent where its op has none, or its problem is
// none of ours.
std::optional<scaling::LayerShape> ShapeOfRecord(const record::Record& record);

struct ScaleFlags {
  std::string files;  // run files with commas, or a cluster file
  std::string network;
  std::vector<std::string> suites;
  std::string type, library;     // empty: all
  std::string nodes = "1:1024";  // "1:1024" or "1,2,3"
  std::optional<double> batch_per_node, batch_of_all;
  std::string allreduce = "best";
  double bucket_bytes = 25e6;  // [byte]
  int parameter_bytes = 4;     // [byte]
  std::string against, against_network;
  int against_nodes = 1;
  bool simulate = false;
  int most_simulated = 256;        // [1] nodes
  std::string prices;              // file of prices; empty: none
  std::string figure = "scaling";  // of x.svg, x.pdf and x.png: or "break-even", "cost"
  std::string measured;            // CSV of a program's throughput; empty: none
  std::vector<std::string> outputs;
};

// Throws BadInput: files that cannot be read, flags that do not fit them, a model without a layer
// that was trained.
scaling::ScaleReport MakeScaleReport(const ScaleFlags& flags);

// "1,2,5", or "3:40": 3, the powers of two between, and 40. Throws BadInput for anything else.
std::vector<int> ReadNodeCounts(const std::string& text);

}  // namespace dlroof::cluster_run
