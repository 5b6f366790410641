// Models on two clusters: what their layers' operators add up to. Pure.
//
// Two clusters side by side as text for people and for programs.
//
// The cells of the tables that show two clusters: the same in the terminal, in Markdown and on the
// page.
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
std::vector<std::string> WithoutImplementationOptions(const std::vector<std::string>& options,
                                       const IsImplementationOption& is_implementation_option);

// One layer of a model: a problem of an op and the directions that the model runs it in.
struct VersusLayer {
  std::string op, problem;
  std::vector<std::string> options;  // without those of manner
  std::set<std::string> directions;  // "fwd", "bwd_data", ...
  double count = 1;                  // [1] times that it occurs in the model
};

struct Model {
  std::string name;  // the suite's
  std::vector<VersusLayer> layers;
};

// Layers of the named benchmarks, each with how often it occurs. Names that differ only in device,
// library, direction, type and options of manner are one layer.
Model ModelFromNames(const std::string& suite,
                     const std::vector<std::pair<std::string, double>>& names,
                     const IsImplementationOption& is_implementation_option);
// Returns the models in context.dlroof.suites of both runs, each name once.
std::vector<Model> ModelsIn(const VersusCluster& a, const VersusCluster& b,
                            const IsImplementationOption& is_implementation_option);

// One pass of a model, of one type, by one library on each side.
struct VersusModel {
  std::string model, pass;  // "inference", or "training": forward and both gradients
  std::string type, library_a, library_b;
  double layers = 0;                   // [1] of the model, each as often as it occurs
  double in_a = 0, in_b = 0;           // [1] of these that have all their times there
  double in_both = 0;                  // [1] and on both sides: those that all times below are of
  std::optional<record::Timing> a, b;  // [s] sums; absent where `in_both` is 0
  std::optional<double> nodes_of_a;    // [1] as in VersusRow
  std::optional<std::pair<double, double>> nodes_ci95;  // [1]; absent where a time has none
  Energies energies_a, energies_b;                      // [J] of the layers in both
  std::map<EnergyClass, EnergyRatio> energy_ratios;     // of classes that both sides have
  std::vector<std::string> missing;                     // problems that a side lacks, each once
};

// A row for each model, pass, type and pair of libraries that have a layer of it on both sides; and
// one that says 0 layers for a model of which no layer is on both. `prices` may be null.
std::vector<VersusModel> MakeVersusModels(const VersusCluster& a, const VersusCluster& b,
                                          const std::vector<Model>& models,
                                          const IsImplementationOption& is_implementation_option,
                                          const Prices* prices = nullptr);

// Two clusters and what they have in common. The clusters must outlive it.
struct VersusReport {
  const VersusCluster* a = nullptr;
  const VersusCluster* b = nullptr;
  Versus versus;
  std::vector<VersusModel> models;
};

// Tables as wide as the terminal (`width` [columns], 0: no limit), then what they rest on.
void WriteVersusTable(const VersusReport& report, int width, std::ostream& out);
void WriteVersusMarkdown(const VersusReport& report, std::ostream& out);
// A line for each row with every digit; an unknown cell is empty.
void WriteVersusCsv(const VersusReport& report, std::ostream& out);
// A page of its own, without scripts. `figure` is an SVG, or empty; `no_figure` says why then.
void WriteVersusPage(const VersusReport& report, const std::string& figure,
                     const std::string& no_figure, std::ostream& out);
// "a", "b", "rows", "models"; an unknown quantity has no key.
nlohmann::json VersusJson(const VersusReport& report);

formats::Cells OperatorCells(const VersusReport& report);
formats::Cells ModelCells(const VersusReport& report);
// Sentences: A, B, what a node is, prices, coverage, marks, what bounds the starting of calls.
std::vector<std::string> VersusNotes(const VersusReport& report);
// Each kind of difference once, in order: "library: onednn | cudnn". A row's last cell has their
// numbers, from 1.
std::vector<std::string> DifferenceKinds(const Versus& versus);
// "AMD EPYC (2 threads)": the machines of a cluster.
std::string MachinesText(const VersusCluster& cluster);

}  // namespace dlroof::cluster
