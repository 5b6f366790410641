// A run file with its records placed under their roofs, whose numbers all reports show; its JSON.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/machine/machine.h"
#include "reporters/record/record.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/breakdown.h"
#include "reporters/roofline/roofline.h"

namespace dlroof::roofline {

// Sums over a run's records: the time of a model from a suite with the occurrences of each layer,
// and the time of zero-FLOP kernels, which have no point on a roofline but take time (zero-AI
// kernels in the hierarchical roofline paper, Yang et al.). Pure.

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
  int layers_placed = 0;                   // [1] layers with a time under known roofs
  // Over the placed layers: the sum of count x max(compute, memory time), and that sum divided by
  // the sum of their measured times. Both are upper limits if `roof_at_most`.
  std::optional<double> roof_seconds;   // [s]
  std::optional<double> roof_fraction;  // [1]
  bool roof_at_most = false;            // at least one of these roofs is not validated
  bool roof_specified = false;          // at least one roof is specified, not measured
  std::vector<LayerToFix> fix_first;    // the three with the most time above their roof
};

// Returns the FLOPs [flop] of one call from the most trusted provenance that has them.
std::optional<double> BestKnownFlops(const record::Record& record);

// Returns how often [1] each name occurs in all suites of context.dlroof.suites that list layers.
std::map<std::string, double> Occurrences(const nlohmann::json& context);

// Returns a summary of each group of layers of each suite in context.dlroof.suites that lists
// layers, in the suites' order. Omits groups without a record in the file.
std::vector<ModelSummary> SummarizeModels(const record::RunFile& file);

// What the choices of a library's heuristic cost, over the benchmarks that timed all algorithms.
struct HeuristicSummary {
  std::string library;  // "cudnn"
  int benchmarks = 0;   // [1] benchmarks that timed all algorithms
  int slower = 0;       // [1] benchmarks with heuristic_over_best > kHeuristicLoss
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

// One record's results, rounded to kWrittenDigits (text.h).
struct Placed {
  std::optional<record::Timing> timing;
  Placement placement;  // with AddFindings; pipe_seconds is empty if it repeats compute_seconds
  record::Rare<roofline::Breakdown> breakdown;  // by BreakdownOf
};

struct PlacedRun {
  record::RunFile file;  // repetitions rounded to the resolution of their clocks
  PlaceView view;
  std::vector<Placed> places;  // by index of file.records
  std::vector<ModelSummary> models;
  std::vector<ZeroFlopSummary> zero_flop_kernels;
};

// Returns the record with its repetitions rounded as in a run file.
record::Record Written(record::Record record);

// Places a record that Written returned under the roofs of `machine`, which may be null.
Placed PlaceWritten(const record::Record& written, const machine::Machine* machine,
                    const PlaceView& view = {});

// Returns the breakdown of a placed CPU call with measured parallel regions, or of a placed GPU
// call with traced kernels; nullopt for other calls. `placement` must be for `machine` and `view`.
std::optional<roofline::Breakdown> BreakdownOf(const record::Record& record,
                                               const Placement& placement,
                                               const machine::Machine& machine,
                                               const PlaceView& view);

PlacedRun PlaceRun(record::RunFile file, const PlaceView& view = {});

// Returns the classic point of this level, or null if there is none.
const ClassicPoint* PointOf(const Placement& placement, Level level);

// Returns the classic point with the lowest roof, of tied levels the farthest. Ignores levels whose
// roof the call exceeds (TimePoint::above_roof). Returns null if no point remains.
const ClassicPoint* Binding(const Placement& placement);

// Share of the binding roof that a call reaches.
struct RoofShare {
  double value = 0;      // [1]
  bool at_most = false;  // an upper limit: the roof is not validated
};
// Returns the number of the tables' column "% roof": the share at the binding classic point (see
// Binding), or 1 / times_over_roof if there is no such point or only one of these two is a limit.
// For a call of unknown FLOPs returns the share of its bandwidth roof; nullopt if it has none.
std::optional<RoofShare> RoofShareOf(const Placement& placement);

// FLOP/s and FLOP/byte of one call, for tables.
struct WorkRate {
  double flops_per_second = 0;      // [flop/s]
  std::optional<double> intensity;  // [flop/byte] at `level`
  std::optional<Level> level;
};

// Returns the call's FLOP/s and its FLOP/byte at DRAM, with counted or else compulsory bytes, even
// if a warm cache holds the tensors: so all rows of a table are comparable. Without DRAM bytes uses
// the farthest level of `view` with known bytes. Returns nullopt if the FLOPs are unknown or 0.
std::optional<WorkRate> WorkRateOf(const record::Record& record, const record::Timing& timing,
                                   const PlaceView& view = {});

// Prefix of a noisy time and of numbers derived from it.
inline constexpr std::string_view kNoisyMark = "~";
inline std::string_view MarkOf(bool noisy) { return noisy ? kNoisyMark : ""; }

// Prefixes of a share of a roof that is not validated, and of the times over such a roof.
inline std::string_view AtMostMark(bool at_most) { return at_most ? "<= " : ""; }
inline std::string_view AtLeastMark(bool at_least) { return at_least ? ">= " : ""; }
// Explains both prefixes below a table.
inline constexpr std::string_view kLimitMeaning =
    "<= and >= are limits: a roof is not validated, and may be higher";

// Returns "66.4 %", "<= 66.4 %", or "" for nullopt; "~66.4 %" for a noisy time, which is an upper
// limit, so that nothing is known of the share of a roof that may be higher.
std::string RoofShareText(const std::optional<RoofShare>& share, bool noisy);
// Returns times_over_roof, "2.92x", or its lower limit, ">= 2.92x"; or "" if neither is set;
// "~2.92x" for a noisy time.
std::string TimesOverRoofText(const TimePoint& time, bool noisy);

// Returns "0.412 %": the larger distance of an end of the 95 % interval from the median. Without an
// interval returns the number of clean repetitions, "n=5" (kSpreadMeaning).
std::string SpreadText(const record::Timing& timing);
inline constexpr std::string_view kSpreadMeaning =
    "± n=N: a 95 % confidence interval needs 6 clean repetitions, there are N";

// Returns the level that binds ("DRAM"), "compute" or "overhead".
std::string BoundText(const TimePoint& time);
// Returns "DRAM roof", the text for a call of unknown FLOPs, whose bound is unknown.
std::string BoundText(const BandwidthPoint& point);

struct Opportunity {
  std::size_t record = 0;         // index into the run's records
  double count = 1;               // [1] occurrences in the run's models, or 1
  double seconds = 0;             // [s] of all occurrences
  double above_roof_seconds = 0;  // [s] `seconds` minus the time at the roof
  bool at_least = false;          // the roof is not validated: above_roof_seconds is a lower limit
};

// Returns at most `most` records above their roof, the most time above the roof first.
std::vector<Opportunity> Opportunities(const PlacedRun& run, std::size_t most = 5);

// Return members of the run file. Unknown quantities have no key.
nlohmann::json ToJson(const record::Record& written, const Placed& placed);
nlohmann::json ToJson(const ModelSummary& model);
nlohmann::json ToJson(const ZeroFlopSummary& summary);
// Places the record under the roofs of `machine`, which may be null, then returns its JSON.
nlohmann::json ToJson(const record::Record& record, const machine::Machine* machine,
                      const PlaceView& view = {});

// Returns the run file: "context", "machines" and "records"; "models" if a suite with occurrence
// counts was run; "census" (ZeroFlopSummary) if a kernel executed no FLOPs. Writes a view that is
// not the default to context.dlroof.view.
nlohmann::json ToJson(const PlacedRun& run);
// Places the records of `file`, then returns the same JSON.
nlohmann::json ToJson(const record::RunFile& file, const PlaceView& view = {});
// Returns the compact form that is stored for years. It has all measured facts except the
// validation of single access mixes, of which only rates and verdicts are stored; the best mix's
// validation is stored with its level. The machines' numbers are rounded to kStoredDigits (text.h)
// before records are placed; "classic", "time" and CPU times have kStoredDigits, run delays
// kStoredDelayDigits, wall times all digits. Omits members that ReadRunFile derives: a machine's
// "flops", "bytes" and "launch_seconds" (those of the largest "by_threads"), a record's advice,
// remarks, time point and interval of FLOP/s.
nlohmann::json ToStoredJson(const record::RunFile& file, const PlaceView& view = {});

}  // namespace dlroof::roofline
