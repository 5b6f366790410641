// A run file with its records placed under their roofs, and its JSON. Reports show these numbers.
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

// A benchmark that takes more time than its roof requires.
struct Opportunity {
  std::size_t record = 0;         // index into the run's records
  double count = 1;               // [1] occurrences in the run's models; 1 without a model
  double seconds = 0;             // [s] of all occurrences
  double above_roof_seconds = 0;  // [s] `seconds` minus the time at the roof
  bool at_least = false;          // the roof is not validated: above_roof_seconds is a lower limit
};

// Sums over the layers of one suite whose names differ only in the problem.
struct ModelSummary {
  std::string suite;        // "resnet50"
  record::Record parts;     // what the names share: op, device, library, direction, type, options
  int layers_total = 0;     // [1] different layers in the suite
  int layers_measured = 0;  // [1] different layers with a time
  double calls_total = 0;   // [1] occurrences of all layers in the model
  double calls_measured = 0;
  std::optional<double> seconds;           // [s] sum over the measured layers of count x median
  bool noisy = false;                      // the time of at least one layer is an estimate (TimeOf)
  std::optional<double> flops;             // [flop] set if those of all measured layers are known
  std::optional<double> flops_per_second;  // [flop/s]
  int layers_placed = 0;                   // [1] layers with a time under known roofs
  // The sum over the placed layers of count x max(compute, memory time), and this sum / the sum of
  // the placed layers' measured times. Both are upper limits if `roof_at_most`.
  std::optional<double> roof_seconds;   // [s]
  std::optional<double> roof_fraction;  // [1]
  bool roof_at_most = false;            // at least one of these roofs is not validated
  bool roof_specified = false;          // at least one roof is specified, not measured
  std::vector<Opportunity> fix_first;   // the three layers with the most time above their roof
};

// Returns the FLOPs [flop] of one call by the most trusted provenance that has FLOPs, else nullopt.
std::optional<double> BestKnownFlops(const record::Record& record);

struct SuiteLayer {
  std::string name;
  double count = 1;  // [1] occurrences in the model, at least 1
};
struct Suite {
  std::string name;
  std::vector<SuiteLayer> layers;
};
// Returns the suites in context.dlroof.suites; ignores members of other types.
std::vector<Suite> SuitesOf(const nlohmann::json& context);

// Returns how often [1] each layer occurs in the suites of context.dlroof.suites, by its name.
std::map<std::string, double> Occurrences(const nlohmann::json& context);

// Groups the layers of each suite in context.dlroof.suites by all parts of their names but the
// problem, and returns a summary per group. Omits groups without a record in the file.
std::vector<ModelSummary> SummarizeModels(const record::RunFile& file);

// What a library's heuristic choice of an algorithm costs against the fastest algorithm.
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
// Returns e.g. "the heuristic of cudnn loses 2.46x on one of 68 (NAME), 1.02x in the median".
std::string HeuristicText(const HeuristicSummary& summary);

// Sums over a set of GPU kernels. Kernels without FLOPs have no point on a roofline but take time
// (zero-AI kernels in the hierarchical roofline paper, Yang et al.). The set of a record is its
// name up to the first slash, usually the program; "" without a slash.
struct ZeroFlopSummary {
  std::string set;
  double seconds = 0;                            // [s] of all kernels
  double zero_flop_seconds = 0;                  // [s] of kernels without FLOPs
  int kernels = 0;                               // [1] kernels with different names
  int zero_flop_kernels = 0;                     // [1] kernels without FLOPs
  std::optional<double> launches = 0;            // [1] set if those of all kernels are known
  std::optional<double> zero_flop_launches = 0;  // [1] set if those of all zero-FLOP ones are known
  double flops = 0;                              // [flop] executed
  double matrix_flops = 0;                       // [flop] executed by matrix units

  double FlopsPerSecond() const { return flops / seconds; }                 // [flop/s]
  double ZeroFlopTimeShare() const { return zero_flop_seconds / seconds; }  // [1]
  std::optional<double> ZeroFlopLaunchShare() const {                       // [1]
    if (!launches || *launches <= 0 || !zero_flop_launches) return std::nullopt;
    return *zero_flop_launches / *launches;
  }
  std::optional<double> MatrixShare() const {  // [1] of the executed FLOPs
    return flops > 0 ? std::optional(matrix_flops / flops) : std::nullopt;
  }
};

// Returns a summary of each set with a kernel that executed no FLOPs, in order of appearance.
// Ignores records without a time or known FLOPs.
std::vector<ZeroFlopSummary> CountZeroFlopKernels(const std::vector<record::Record>& records);

// One record's results, rounded to kWrittenDigits (text.h).
struct Placed {
  std::optional<record::Timing> timing;
  Placement placement;  // pipe_seconds is empty if it would only repeat compute_seconds
  record::Rare<roofline::Breakdown> breakdown;  // set if BreakdownOf returns one
};

struct PlacedRun {
  record::RunFile file;  // repetitions rounded to the resolution of their clocks
  PlaceView view;
  std::vector<Placed> places;  // by index of file.records
  std::vector<ModelSummary> models;
  std::vector<ZeroFlopSummary> zero_flop_kernels;
};

// Returns the record with its repetitions rounded to the digits that a run file stores.
record::Record Written(record::Record record);

// Places a record (a result of Written) under the roofs of `machine`, which may be null.
Placed PlaceWritten(const record::Record& written, const machine::Machine* machine,
                    const PlaceView& view = {});

// Returns the breakdown of a placed CPU call with measured parallel regions, or of a placed GPU
// call with kernels (MakeGpuBreakdown); nullopt for other calls. `placement` must be the record's
// placement for `machine` and `view`.
std::optional<roofline::Breakdown> BreakdownOf(const record::Record& record,
                                               const Placement& placement,
                                               const machine::Machine& machine,
                                               const PlaceView& view);

PlacedRun PlaceRun(record::RunFile file, const PlaceView& view = {});

const ClassicPoint* PointOf(const Placement& placement, Level level);

// Returns the classic point with the lowest roof (of tied points the farthest level), without the
// levels whose roof the call exceeds (TimePoint::above_roof). Returns null if no point remains.
const ClassicPoint* Binding(const Placement& placement);

// Returns the number of the tables' column "% roof": the share at the binding classic point (see
// Binding). If there is no binding point, or if one of this share and times_over_roof is exact and
// the other a limit, returns 1 / times_over_roof. For a call of unknown FLOPs returns the share of
// its bandwidth roof. Returns nullopt for a call that is not placed.
std::optional<RoofShare> RoofShareOf(const Placement& placement);

// FLOP/s and FLOP/byte of one call, for tables.
struct WorkRate {
  double flops_per_second = 0;      // [flop/s]
  std::optional<double> intensity;  // [flop/byte] at `level`
  std::optional<Level> level;
};

// Returns the call's FLOP/s and its FLOP/byte at DRAM. Uses counted or else compulsory DRAM bytes,
// even if a warm cache holds the tensors, so that all rows of a table are comparable. Without DRAM
// bytes uses the farthest level with bytes. Returns nullopt if the FLOPs are unknown or 0.
std::optional<WorkRate> WorkRateOf(const record::Record& record, const record::Timing& timing,
                                   const PlaceView& view = {});

// Prefix of a noisy time and of numbers derived from it.
inline constexpr std::string_view kNoisyMark = "~";
inline std::string_view MarkOf(bool noisy) { return noisy ? kNoisyMark : ""; }

// Prefixes of a share of a roof, and of times over a roof, if the roof is not validated.
inline std::string_view AtMostMark(bool at_most) { return at_most ? "<= " : ""; }
inline std::string_view AtLeastMark(bool at_least) { return at_least ? ">= " : ""; }
inline constexpr std::string_view kLimitMeaning =
    "<= and >= are limits: a roof is not validated, and may be higher";

// Returns e.g. "66.4 %", "<= 66.4 %", "~66.4 %" for a noisy time, or "" for nullopt. A noisy time
// gets no "<=": it may be too long, and a roof that is not validated too low, so the share may be
// wrong in both directions.
std::string RoofShareText(const std::optional<RoofShare>& share, bool noisy);
// Returns times_over_roof, e.g. "2.92x", ">= 2.92x" for a lower limit, or "~2.92x" for a noisy
// time.
std::string TimesOverRoofText(const TimePoint& time, bool noisy);

// Returns the larger distance of the 95 % interval's ends from the median, e.g. "0.412 %". Without
// an interval returns the number of clean repetitions, e.g. "n=5" (kSpreadMeaning).
std::string SpreadText(const record::Timing& timing);
inline constexpr std::string_view kSpreadMeaning =
    "± n=N: a 95 % confidence interval needs 6 clean repetitions, there are N";

// Returns "compute", "overhead" or the name of the binding level, e.g. "DRAM".
std::string BoundText(const TimePoint& time);
// Returns e.g. "DRAM roof": a call of unknown FLOPs is compared with a roof, its bound is unknown.
std::string BoundText(const BandwidthPoint& point);

// Returns at most `most` records above their roof, the most time above the roof first.
std::vector<Opportunity> Opportunities(const PlacedRun& run, std::size_t most = 5);

// Return objects of the run file. Unknown quantities have no key.
nlohmann::json ToJson(const record::Record& written, const Placed& placed);
nlohmann::json ToJson(const ModelSummary& model, const record::RunFile& file);
nlohmann::json ToJson(const ZeroFlopSummary& summary);
// Places the record under the roofs of `machine`, which may be null, then returns its JSON.
nlohmann::json ToJson(const record::Record& record, const machine::Machine* machine,
                      const PlaceView& view = {});

// Returns the run file: "context", "machines" and "records"; "models" if a suite with occurrence
// counts was run; "census" (ZeroFlopSummary) if a kernel executed no FLOPs. A view that is not the
// default is in context.dlroof.view. Throws BadInput for more than 40,000 records.
nlohmann::json ToJson(const PlacedRun& run);
// Places the records of `file`, then returns the same JSON.
nlohmann::json ToJson(const record::RunFile& file, const PlaceView& view = {});
// Returns the compact form for stored runs. It has all measured facts except the validation of
// single access mixes (each level has the validation of its best mix). The machines' numbers are
// rounded to kStoredDigits (text.h) before records are placed; "classic", "time" and CPU times have
// kStoredDigits, run delays kStoredDelayDigits, wall times all digits. Omits what can be derived: a
// machine's "flops", "bytes" and "launch_seconds" (those of the most threads), and a record's
// advice, remarks, time point and interval of FLOP/s.
nlohmann::json ToStoredJson(const record::RunFile& file, const PlaceView& view = {});

}  // namespace dlroof::roofline
