// Sums over a run's records: the time of a model by a suite that says how often each layer occurs,
// and of kernels without FLOPs. Such kernels have no place under a roofline but take time (zero-AI
// kernels in the hierarchical roofline paper, Yang et al.). Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reporters/record/run_file.h"

namespace dlroof::roofline {

// A layer with much time above its roof.
struct LayerToFix {
  std::string name;               // of its record
  double count = 1;               // [1] occurrences
  double seconds = 0;             // [s] of all occurrences
  double above_roof_seconds = 0;  // [s] of these, beyond the time at the roof
  double share = 0;               // [1] of the model's time
};

// Layers of one suite whose names differ only in the problem.
struct ModelSummary {
  std::string suite;  // "resnet50"
  std::string op, device, library, direction, type;
  std::vector<std::string> options;
  int layers_total = 0;     // [1] different layers in the suite
  int layers_measured = 0;  // [1] of these, with a time
  double calls_total = 0;   // [1] occurrences of all layers
  double calls_measured = 0;
  std::optional<double> seconds;           // [s] sum over the measured layers of count x median
  bool noisy = false;                      // the time of at least one layer is an estimate (TimeOf)
  std::optional<double> flops;             // [flop] set if those of all measured layers are known
  std::optional<double> flops_per_second;  // [flop/s]
  // Sum over the layers with a time and a slowdown: count x the largest of their compute and memory
  // times, and its share of their measured time.
  int layers_placed = 0;
  std::optional<double> roof_seconds;   // [s]
  std::optional<double> roof_fraction;  // [1]
  bool roof_specified = false;          // at least one roof is specified, not measured
  std::vector<LayerToFix> fix_first;    // the three with the most time above their roof
};

// Returns the FLOPs [flop] of one call by the best provenance that knows them.
std::optional<double> BestKnownFlops(const record::Record& record);

// Returns how often each name occurs in all counted suites of context.dlroof.suites [1].
std::map<std::string, double> Occurrences(const nlohmann::json& context);

// Returns a summary for each counted suite in context.dlroof.suites and each group of its layers,
// in the suites' order, without groups that have no record in the file.
std::vector<ModelSummary> SummarizeModels(const record::RunFile& file);

// Kernels of one set. A record's set is its name up to the first slash, or "" without a slash.
struct ZeroFlopSummary {
  std::string set;
  double seconds = 0;                        // [s] of all kernels
  double zero_flop_seconds = 0;              // [s] of kernels without FLOPs
  int kernels = 0;                           // [1] different names
  int zero_flop_kernels = 0;                 // [1] different names
  std::optional<double> launches;            // [1] set if those of all kernels are known
  std::optional<double> zero_flop_launches;  // [1]
  double flops = 0;                          // [flop] executed
  double matrix_flops = 0;                   // [flop] of these by matrix units
};

// Returns a summary of each set with a kernel that executed no FLOPs, in order of appearance.
// Ignores records without a time or known FLOPs.
std::vector<ZeroFlopSummary> CountZeroFlopKernels(const std::vector<record::Record>& records);

double ZeroFlopTimeShare(const ZeroFlopSummary& summary);                   // [1]
double FlopsPerSecond(const ZeroFlopSummary& summary);                      // [flop/s]
std::optional<double> ZeroFlopLaunchShare(const ZeroFlopSummary& summary);  // [1]
std::optional<double> MatrixShare(const ZeroFlopSummary& summary);          // [1] of the FLOPs

}  // namespace dlroof::roofline
