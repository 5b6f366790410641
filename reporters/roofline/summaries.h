// Sums over a run's records. Pure. A counted suite of the run file gives a model's time from its
// layers' records. Kernels that execute no FLOPs stand on no roofline, yet take time: a zero-FLOP
// kernels says how many there are, and how long they run (the zero-AI kernels of the hierarchical
// roofline paper).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reporters/record/run_file.h"

namespace dlroof::roofline {

// A layer that is worth a look: where the time above the roof is.
struct LayerToFix {
  std::string name;               // of its record
  double count = 1;               // [1] times that it occurs
  double seconds = 0;             // [s] of all its occurrences
  double above_roof_seconds = 0;  // [s] of these, more than its roofs ask for
  double share = 0;               // [1] of the model's time
};

// Layers of one suite that share everything of their name but the problem.
struct ModelSummary {
  std::string suite;  // "resnet50"
  std::string op, device, library, direction, type;
  std::vector<std::string> options;
  int layers_total = 0;     // [1] different layers in the suite
  int layers_measured = 0;  // of these, with a time
  double calls_total = 0;   // [1] layers, each as often as it occurs
  double calls_measured = 0;
  // Sum of the measured layers only: the sum over layers of count x median. Absent where none is.
  std::optional<double> seconds;           // [s]
  bool noisy = false;                      // the time of one of them is an estimate (TimeOf)
  std::optional<double> flops;             // [flop]; absent when one of them has none known
  std::optional<double> flops_per_second;  // [flop/s]
  // Sum over the layers that have a time and a roof without doubt: count x the largest of their
  // compute and memory times, and its share of their time. Absent where none has.
  int layers_placed = 0;
  std::optional<double> roof_seconds;   // [s]
  std::optional<double> roof_fraction;  // [1]
  bool roof_specified = false;          // a roof of one of them is given, not measured
  std::vector<LayerToFix> fix_first;    // the three with most time above their roof, most first
};

// Returns the FLOPs of one call by the most trusted count with every pipe known [flop].
std::optional<double> BestKnownFlops(const record::Record& record);

// Returns how often each name occurs in the counted suites of context.dlroof.suites, together [1].
std::map<std::string, double> Occurrences(const nlohmann::json& context);

// A summary for each counted suite in context.dlroof.suites and each group of its layers of which
// the file has a record, in the suites' order. A group without any record was not asked for.
std::vector<ModelSummary> SummarizeModels(const record::RunFile& file);

// The records of one set: what stands before the first slash of their names, or all of a file whose
// names have none.
struct ZeroFlopKernels {
  std::string set;
  double seconds = 0;                        // [s] of all kernels
  double zero_flop_seconds = 0;              // [s] of those without FLOPs
  int kernels = 0;                           // [1] names
  int zero_flop_kernels = 0;                 // [1] names
  std::optional<double> launches;            // [1]; absent when one of them is not known
  std::optional<double> zero_flop_launches;  // [1]
  double flops = 0;                          // [flop] executed
  double matrix_flops = 0;                   // [flop] of these by matrix units
};

// A zero-FLOP kernels of each set, in order of appearance, in which a kernel executed no FLOPs;
// records without a time or whose FLOPs are not known are left out.
std::vector<ZeroFlopKernels> CountZeroFlopKernels(const std::vector<record::Record>& records);

double ZeroFlopTimeShare(const ZeroFlopKernels& zero_flop_kernels);  // [1]
double FlopsPerSecond(const ZeroFlopKernels& zero_flop_kernels);     // [flop/s]
// [1] Absent where it is not known.
std::optional<double> ZeroFlopLaunchShare(const ZeroFlopKernels& zero_flop_kernels);
std::optional<double> MatrixShare(const ZeroFlopKernels& zero_flop_kernels);

}  // namespace dlroof::roofline
