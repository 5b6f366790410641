// Models on two clusters: what their layers' operators add up to. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baselines/versus/versus.h"

namespace dlroof::cluster {

// Returns the options that say what is computed.
std::vector<std::string> WithoutManner(const std::vector<std::string>& options,
                                       const IsManner& is_manner);

// One layer of a model: a problem of an op and the directions that the model runs it in.
struct ModelLayerOf {
  std::string op, problem;
  std::vector<std::string> options;  // without those of manner
  std::set<std::string> directions;  // "fwd", "bwd_data", ...
  double count = 1;                  // [1] times that it occurs in the model
};

struct Model {
  std::string name;  // the suite's
  std::vector<ModelLayerOf> layers;
};

// Layers of the named benchmarks, each with how often it occurs. Names that differ only in device,
// library, direction, type and options of manner are one layer.
Model ModelFromNames(const std::string& suite,
                     const std::vector<std::pair<std::string, double>>& names,
                     const IsManner& is_manner);
// Returns the models in context.dlroof.suites of both runs, each name once.
std::vector<Model> ModelsIn(const VersusCluster& a, const VersusCluster& b,
                            const IsManner& is_manner);

// One pass of a model, of one type, by one library on each side.
struct VersusModel {
  std::string model, pass;  // "inference", or "training": forward and both gradients
  std::string type, library_a, library_b;
  double layers = 0;                 // [1] of the model, each as often as it occurs
  double in_a = 0, in_b = 0;         // [1] of these that have all their times there
  double in_both = 0;                // [1] and on both sides: those that all times below are of
  std::optional<record::Timing> a, b;        // [s] sums; absent where `in_both` is 0
  std::optional<double> nodes_of_a;  // [1] as in VersusRow
  std::optional<std::pair<double, double>> nodes_ci95;  // [1]; absent where a time has none
  Energies energies_a, energies_b;                      // [J] of the layers in both
  std::map<EnergyClass, EnergyRatio> energy_ratios;     // of classes that both sides have
  std::vector<std::string> missing;                     // problems that a side lacks, each once
};

// A row for each model, pass, type and pair of libraries that have a layer of it on both sides; and
// one that says 0 layers for a model of which no layer is on both. `prices` may be null.
std::vector<VersusModel> MakeVersusModels(const VersusCluster& a, const VersusCluster& b,
                                          const std::vector<Model>& models,
                                          const IsManner& is_manner,
                                          const Prices* prices = nullptr);

}  // namespace dlroof::cluster
