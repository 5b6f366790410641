// Sums over a run's records: the time of a model from a suite with the occurrences of each layer,
// and the time of zero-FLOP kernels, which have no point on a roofline but take time (zero-AI
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
  std::string name;               // name of the layer's record
  double count = 1;               // [1] occurrences
  double seconds = 0;             // [s] of all occurrences
  double above_roof_seconds = 0;  // [s] `seconds` minus the time at the roof
  bool at_least = false;          // the roof is not validated: above_roof_seconds is a lower limit
  double share = 0;               // [1] of the model's time
};

// Layers of one suite whose names differ only in the problem.
struct ModelSummary {
  std::string suite;  // "resnet50"
  std::string op, device, library, direction, type;
  std::vector<std::string> options;
  int layers_total = 0;     // [1] different layers in the suite
  int layers_measured = 0;  // [1] different layers with a time
  double calls_total = 0;   // [1] occurrences of all layers
  double calls_measured = 0;
  std::optional<double> seconds;           // [s] sum over the measured layers of count x median
  bool noisy = false;                      // the time of at least one layer is an estimate (TimeOf)
  std::optional<double> flops;             // [flop] set if those of all measured layers are known
  std::optional<double> flops_per_second;  // [flop/s]
  // Over the layers that are placed: the sum of count x max(compute, memory time), and
  // that sum divided by the sum of their measured times.
  int layers_placed = 0;
  std::optional<double> roof_seconds;   // [s]
  std::optional<double> roof_fraction;  // [1]
  bool roof_at_most = false;            // both are upper limits: a roof is not validated
  bool roof_specified = false;          // at least one roof is specified, not measured
  std::vector<LayerToFix> fix_first;    // the three with the most time above their roof
};

// Returns the FLOPs [flop] of one call from the most trusted provenance that has them.
std::optional<double> BestKnownFlops(const record::Record& record);

// Returns how often each name occurs in all counted suites of context.dlroof.suites [1].
std::map<std::string, double> Occurrences(const nlohmann::json& context);

// Returns a summary for each counted suite in context.dlroof.suites and each group of its layers,
// in the suites' order, without groups that have no record in the file.
std::vector<ModelSummary> SummarizeModels(const record::RunFile& file);

// What the choices of a library's heuristic cost, over the benchmarks that timed all algorithms.
struct HeuristicSummary {
  std::string library;  // "cudnn"
  int benchmarks = 0;   // [1] benchmarks that timed all algorithms
  int slower = 0;       // [1] benchmarks with more than kHeuristicLoss
  double median = 1;    // [1] of heuristic_over_best
  double most = 1;      // [1] maximum of heuristic_over_best
  std::string worst;    // name of the benchmark with `most`
};
inline constexpr double kHeuristicLoss = 1.1;  // [1] threshold of heuristic_over_best

// Returns a summary for each library with Record::heuristic_over_best, in order of appearance.
std::vector<HeuristicSummary> SummarizeHeuristics(const std::vector<record::Record>& records);
// Returns "the heuristic of cudnn loses 2.46x on one of 68 (NAME), 1.02x in the median".
std::string HeuristicText(const HeuristicSummary& summary);

// Kernels of one set. A record's set is its name up to the first slash, or "" without a slash.
struct ZeroFlopSummary {
  std::string set;
  double seconds = 0;                        // [s] of all kernels
  double zero_flop_seconds = 0;              // [s] of kernels without FLOPs
  int kernels = 0;                           // [1] kernels with different names
  int zero_flop_kernels = 0;                 // [1] kernels without FLOPs
  std::optional<double> launches;            // [1] set if those of all kernels are known
  std::optional<double> zero_flop_launches;  // [1]
  double flops = 0;                          // [flop] executed
  double matrix_flops = 0;                   // [flop] executed by matrix units
};

// Returns a summary of each set with a kernel that executed no FLOPs, in order of appearance.
// Ignores records without a time or known FLOPs.
std::vector<ZeroFlopSummary> CountZeroFlopKernels(const std::vector<record::Record>& records);

double ZeroFlopTimeShare(const ZeroFlopSummary& summary);                   // [1]
double FlopsPerSecond(const ZeroFlopSummary& summary);                      // [flop/s]
std::optional<double> ZeroFlopLaunchShare(const ZeroFlopSummary& summary);  // [1]
std::optional<double> MatrixShare(const ZeroFlopSummary& summary);  // [1] matrix / all FLOPs

}  // namespace dlroof::roofline
