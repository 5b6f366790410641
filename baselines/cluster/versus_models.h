// Compares models on two clusters A and B (sums over their layers' operators), and writes the
// comparison. The terminal, Markdown and the page have the same tables. Pure.
#pragma once

#include <iosfwd>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baselines/cluster/versus.h"
#include "reporters/document/document.h"

namespace dlroof::cluster {

// One layer of a model: an op, its problem, and the directions in which the model runs it.
struct VersusLayer {
  std::string op, problem;
  std::vector<std::string> options;  // excludes IsImplementation options
  std::set<std::string> directions;  // "fwd", "bwd_data", ...
  double count = 1;                  // [1] occurrences in the model
};

struct Model {
  std::string name;  // the suite's name
  std::vector<VersusLayer> layers;
};

// Returns the layers of the named benchmarks, each with its number of occurrences. Names that
// differ only in device, library, direction, type or implementation options are one layer.
Model ModelFromNames(const std::string& suite,
                     const std::vector<std::pair<std::string, double>>& names,
                     const IsImplementationOption& is_implementation_option);
// Returns the models in context.dlroof.suites of both runs, each name once.
std::vector<Model> ModelsIn(const VersusCluster& a, const VersusCluster& b,
                            const IsImplementationOption& is_implementation_option);

// One pass of a model in one type (ComparedType); each layer by the record that FastestByKey chose.
struct VersusModel {
  std::string model, pass;  // "inference", or "training": forward and both gradients
  std::string type;
  double layers = 0;  // [1] of the model, counting each occurrence
  // [1] layers with all times on the cluster, and without fallbacks
  double in_a = 0, in_b = 0;
  double in_both = 0;  // [1] layers in A and B; all sums below are over these
  // [s] sums, and [1] number of A's nodes as fast as one node of B; set if `in_both` is above 0
  std::optional<Quantity> a, b, nodes_of_a;
  Energies energies_a, energies_b;                // [J] sums over the layers in A and B
  std::map<EnergyClass, Quantity> energy_ratios;  // of classes that A and B have
  std::vector<std::string> missing;               // problems that A or B lacks, each once
};

// Returns a row for each model, pass and type with a layer on both clusters, and a row with 0
// layers for a model that has no layer on both clusters.
std::vector<VersusModel> MakeVersusModels(const VersusCluster& a, const VersusCluster& b,
                                          const std::vector<Model>& models,
                                          const VersusOptions& options);

// Two clusters and their comparison. The clusters must outlive it.
struct VersusReport {
  const VersusCluster* a = nullptr;
  const VersusCluster* b = nullptr;
  Versus versus;
  std::vector<VersusModel> models;
};

// Returns the tables, their sources and assumptions.
document::Document VersusDocument(const VersusReport& report);
std::string VersusTitle(const VersusReport& report);
// Writes a CSV line per row, all digits; unknown fields are empty.
void WriteVersusCsv(const VersusReport& report, std::ostream& out);
// Returns an object with "a", "b", "rows", "models"; unknown quantities have no key.
nlohmann::json VersusJson(const VersusReport& report);

// Returns the machines of a cluster: "AMD EPYC (2 threads)".
std::string MachinesText(const VersusCluster& cluster);

}  // namespace dlroof::cluster
