// Models on two clusters (the sums over their layers' operators), and two clusters side by side as
// text for people and for programs. The terminal, Markdown and the page show the same table cells.
// Pure.
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
#include "baselines/formats/page_text.h"

namespace dlroof::cluster {

// Returns the options that say what is computed.
std::vector<std::string> WithoutImplementationOptions(
    const std::vector<std::string>& options,
    const IsImplementationOption& is_implementation_option);

// One layer of a model: a problem of an op and the directions that the model runs it in.
struct VersusLayer {
  std::string op, problem;
  std::vector<std::string> options;  // without implementation options
  std::set<std::string> directions;  // "fwd", "bwd_data", ...
  double count = 1;                  // [1] occurrences in the model
};

struct Model {
  std::string name;  // of the suite
  std::vector<VersusLayer> layers;
};

// Returns the layers of the named benchmarks, each with its number of occurrences. Names that
// differ only in device, library, direction, type and implementation options are one layer.
Model ModelFromNames(const std::string& suite,
                     const std::vector<std::pair<std::string, double>>& names,
                     const IsImplementationOption& is_implementation_option);
// Returns the models in context.dlroof.suites of both runs, each name once.
std::vector<Model> ModelsIn(const VersusCluster& a, const VersusCluster& b,
                            const IsImplementationOption& is_implementation_option);

// One pass of a model in one type, by one library on each side.
struct VersusModel {
  std::string model, pass;  // "inference", or "training": forward and both gradients
  std::string type, library_a, library_b;
  double layers = 0;                   // [1] of the model, counting each occurrence
  double in_a = 0, in_b = 0;           // [1] of these, layers with all times on this side
  double in_both = 0;                  // [1] and on both sides; all sums below are over these
  std::optional<record::Timing> a, b;  // [s] sums; set if `in_both` is above 0
  std::optional<double> nodes_of_a;    // [1] as in VersusRow
  std::optional<std::pair<double, double>> nodes_ci95;  // [1]; set if both times have one
  Energies energies_a, energies_b;                      // [J] of the layers in both
  std::map<EnergyClass, EnergyRatio> energy_ratios;     // of classes that both sides have
  std::vector<std::string> missing;                     // problems that a side lacks, each once
};

// Returns a row for each model, pass, type and pair of libraries with a layer on both sides, and a
// row with 0 layers for a model without such a layer. `prices` may be null.
std::vector<VersusModel> MakeVersusModels(const VersusCluster& a, const VersusCluster& b,
                                          const std::vector<Model>& models,
                                          const IsImplementationOption& is_implementation_option,
                                          const Prices* prices = nullptr);

// Two clusters and their comparison. The clusters must outlive it.
struct VersusReport {
  const VersusCluster* a = nullptr;
  const VersusCluster* b = nullptr;
  Versus versus;
  std::vector<VersusModel> models;
};

// Writes the tables, then their sources and assumptions. `width` [columns] of the terminal; lines
// are as long as they need for a width of 0.
void WriteVersusTable(const VersusReport& report, int width, std::ostream& out);
void WriteVersusMarkdown(const VersusReport& report, std::ostream& out);
// Writes a line for each row with all digits; unknown cells are empty.
void WriteVersusCsv(const VersusReport& report, std::ostream& out);
// Writes a self-contained page without scripts. `figure` is an SVG; without one the page shows
// `no_figure_reason`.
void WriteVersusPage(const VersusReport& report, const std::string& figure,
                     const std::string& no_figure_reason, std::ostream& out);
// Writes "a", "b", "rows", "models"; unknown quantities have no key.
nlohmann::json VersusJson(const VersusReport& report);

formats::Cells OperatorCells(const VersusReport& report);
formats::Cells ModelCells(const VersusReport& report);
// Returns sentences: A, B, what a node is, prices, coverage, marks, what bounds launches.
std::vector<std::string> VersusNotes(const VersusReport& report);
// Returns each kind of difference once, in order: "library: onednn | cudnn". The last cell of a row
// refers to them by number, from 1.
std::vector<std::string> DifferenceKinds(const Versus& versus);
// Returns the machines of a cluster: "AMD EPYC (2 threads)".
std::string MachinesText(const VersusCluster& cluster);

}  // namespace dlroof::cluster
