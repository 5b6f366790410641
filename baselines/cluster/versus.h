// Compares the same operators on two clusters A and B (e.g. GPUs and CPUs) by time, price and
// measured energy. Pure, except ReadPrices.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/cluster/gather.h"
#include "ceilings/machine/machine.h"
#include "reporters/document/document.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::cluster {

// Which time of a call is compared: the same kind for GPUs and CPUs.
enum class CallTime {
  // Calls follow each other: on a CPU back to back, on a GPU by the device's own time.
  kThroughput,
  // A single call: on a GPU on an idle device, with its launch; on a CPU equal to kThroughput,
  // because CPU times include the call.
  kLatency
};

// Sets the seconds and `timed` of GPU records to the wanted kind of time. kThroughput: the device's
// own time stays; times that include launches are replaced by those of back-to-back calls.
// kLatency: the time of a call on an idle GPU. A record keeps its times if a repetition has no such
// sample. Marks noisy repetitions again, except in cluster files, whose repetitions are nodes.
void UseTimes(CallTime wanted, record::RunFile& run);

// Returns the kind of a GPU record's times as text, e.g. "queued calls"; "" for a CPU.
std::string TimedText(const record::Record& record);

// Returns whether the record's times are of this kind; true for CPUs.
bool IsTimed(CallTime wanted, const record::Record& record);

// A measured value, or a ratio of two, with its interval.
struct Quantity {
  double value = 0;
  std::optional<std::pair<double, double>> ci95;  // set if all inputs of `value` have an interval
  bool noisy = false;  // from an estimated time, or includes energy of other programs
};

Quantity QuantityOf(const record::Timing& timing);  // [s]

// Returns x / y. Its interval's half-widths are those of x and y, added in quadrature as logarithms
// (MOVER, Donner and Zou 2012).
Quantity RatioOf(const Quantity& x, const Quantity& y);

// The sum of quantities; the half-widths of their intervals are added in quadrature (MOVER).
class QuantitySum {
 public:
  void Add(const Quantity& quantity, double count);
  std::optional<Quantity> Total() const;  // nullopt if nothing was added
  int added() const { return added_; }

 private:
  Quantity sum_;
  double below_ = 0, above_ = 0;
  bool interval_ = true;
  int added_ = 0;
};

// The price of the nodes whose machine matches `name` and `fingerprint`.
struct PriceKind {
  std::string name;             // substring of the machine's name; "" matches all
  std::string fingerprint;      // of the machine; "" matches all
  double per_node_hour = 0;     // [currency/h] of a node with all its devices, > 0
  std::optional<int> devices;   // [1] per node; set if the file has it
  std::optional<double> watts;  // [W] of a node under load; set if the file has it
};

struct Prices {
  std::string currency;  // e.g. "USD"
  std::vector<PriceKind> kinds;
};

// Reads the user's file of prices: {"currency": "USD", "kinds": [KIND, ...]}. A kind has "match"
// ("name", "fingerprint" or both), "per_node_hour", and optionally "devices" and "watts" (of a node
// under load). No price has a default. Throws BadInput for anything else.
Prices ReadPrices(const std::string& path);
Prices ParsePrices(const std::string& text, const std::string& where);

// Returns the first kind in the file's order that matches the machine, or null.
const PriceKind* PriceOf(const Prices& prices, const machine::Machine& machine);

// Returns A's energy divided by B's, or nullopt unless both are known.
std::optional<Quantity> EnergyRatio(const std::optional<Quantity>& a,
                                    const std::optional<Quantity>& b);

// Returns whether an option in a name (e.g. "nchw") only chooses an implementation, not the result.
using IsImplementationOption = std::function<bool(std::string_view option)>;
// Returns the options without those that choose an implementation.
std::vector<std::string> WithoutImplementationOptions(
    std::vector<std::string> options, const IsImplementationOption& is_implementation_option);

struct VersusCluster {
  std::string where;  // names of its run files
  roofline::PlacedRun run;
  int devices = 1;  // [1] per node; a node makes this many times a device's calls per second
  bool devices_known = false;  // specified by the user or a file
  // Set for a cluster file: each time is the median over nodes.
  std::optional<EstimateCount> node_times = {};
};

// One call on one device of a cluster.
struct VersusCall {
  Quantity seconds = {};                 // [s]
  std::optional<double> call_cost = {};  // [currency], if the price of its machine is known
  // [J] by energy counters of the devices, read before and after the calls
  std::optional<Quantity> energy = {};
};

// Returns a call of the record at `index`, which has a time. `prices` may be null. The cost is that
// of a device: the node's price / number of devices per node (PriceKind::devices, else the
// cluster's).
VersusCall CallOf(const VersusCluster& cluster, std::size_t index, const Prices* prices);

// Returns the data type by which a record is compared: its own type, but "f32" for tf32 on a GPU,
// because frameworks use tf32 for f32 data.
std::string ComparedType(const record::Record& record);

// Groups the records by key_of(record). Returns for each key the index of the record that a
// framework would use: the fastest with a verified result, or if none is verified the fastest.
// Skips records without a time or with an empty key.
std::map<std::string, std::size_t> FastestByKey(
    const roofline::PlacedRun& run,
    const std::function<std::string(const record::Record&)>& key_of);

// [1] A call that reaches a smaller share of its roof and is not bound by overhead is taken for a
// fallback implementation: a framework would pad, transpose or use another type instead.
inline constexpr double kFallbackShare = 0.02;
bool IsFallback(const roofline::Placed& placed);

struct VersusOptions {
  const Prices* prices = nullptr;  // may be null
  // Empty: no option chooses an implementation.
  IsImplementationOption is_implementation_option;
  bool best_type = false;                  // compare the fastest records over all data types
  CallTime times = CallTime::kThroughput;  // kind of times, set in both runs by UseTimes
};

// The facts of one cluster in a VersusRow.
struct VersusSide : VersusCall {
  std::size_t record = 0;  // index into the cluster's records
  // [1/s] VersusCluster::devices / `seconds`
  double node_calls_per_second = 0;
  std::optional<roofline::RoofShare> share = {};  // of the binding roof
  bool specified = false;                         // the binding roof is specified, not measured
  std::string bound = {};  // e.g. "DRAM", "compute", "overhead"; "" if unknown
  bool bound_by_overhead = false;
  bool fallback = false;  // by IsFallback; totals exclude it
  // [flop] of one call, by the most trusted provenance of this record
  std::optional<double> counted_flops = {};
  std::optional<double> cost = {};  // [currency] per 1e15 FLOP, if FLOPs and price are known
};

// Returns how many nodes of A are as fast as one node of B, from the seconds of one device of each.
Quantity NodesOfA(const VersusCluster& a, const Quantity& a_seconds, const VersusCluster& b,
                  const Quantity& b_seconds);

struct VersusRow {
  // op/direction/type/problem[/option...], no implementation options; type A|B if they differ
  std::string key;
  std::string type;  // by which both are compared (ComparedType), or "best" with best_type
  VersusSide a, b;
  // [flop] of one call on both clusters: modelled by A or B, else counted equally on both. Not set
  // if unknown or different; each cluster's cost then uses its own counted_flops.
  std::optional<double> flops;
  Quantity nodes_of_a;  // [1] number of A's nodes with the calls per second of one node of B
  std::optional<Quantity> energy_ratio;  // [1] A / B
  std::vector<std::string> differences;  // A | B, e.g. "library: onednn | cudnn"
};

// Sums over the same calls on A and on B.
struct VersusSums {
  // [s] sums, and [1] number of A's nodes as fast as one node of B; set if there is a call
  std::optional<Quantity> a, b, nodes_of_a;
  std::optional<double> cost_ratio;  // [1] A's cost of these calls / B's, if both are known
  std::optional<Quantity> energy_a, energy_b;  // [J] set if every call has an energy
  std::optional<Quantity> energy_ratio;        // [1] A / B
};

// Sums over one call of each problem of one operator and type, without energies.
struct VersusTotal : VersusSums {
  std::string of;                       // operator, types of A and B, e.g. "Conv2D f32|tf32"
  double operators = 0, fallbacks = 0;  // [1] rows in the sums; rows omitted as fallbacks
};

struct Versus {
  std::vector<VersusRow> rows;  // in the order of A's records
  // [1] Type -> number of operators with a time on one cluster only.
  std::map<std::string, std::size_t> only_a, only_b;
  CallTime times = CallTime::kThroughput;
  std::string currency;  // "" without prices
  // The nodes' price, e.g. "2.5 USD per node and hour", or why it is unknown; "" without prices.
  std::string price_a, price_b;
  // [1] B's price and watts over A's, of one node each, where both are known
  std::optional<double> price_ratio = {}, watts_ratio = {};
  std::vector<VersusTotal> totals = {};  // by TotalsOf
};

// Returns a total for each operator and type (VersusTotal::of), in the order of the rows.
std::vector<VersusTotal> TotalsOf(const VersusCluster& a, const VersusCluster& b,
                                  const std::vector<VersusRow>& rows);

// Returns a row for each operator and type (ComparedType) that both A and B have, of their fastest
// records (FastestByKey). Throws BadInput if the runs' conventions differ, or without any row.
Versus MakeVersus(const VersusCluster& a, const VersusCluster& b, const VersusOptions& options);

// Returns the FLOPs of a record [flop] that were counted by the provenance `from`, if known.
std::optional<double> CountedFlops(const record::Record& record, Provenance from);

// One layer of a model: an op, its problem, and the directions in which the model runs it.
struct VersusLayer {
  std::string op, problem;
  std::vector<std::string> options;  // without implementation options
  std::set<std::string> directions;  // "fwd", "bwd_data", ...
  double count = 1;                  // [1] number of occurrences in the model
};

struct Model {
  std::string name;  // the suite's name
  std::vector<VersusLayer> layers;
};

// Returns the suite's layers with their numbers of occurrences. Names of benchmarks that differ
// only in device, library, direction, type or implementation options are one layer (largest
// number).
Model ModelOf(const roofline::Suite& suite, const IsImplementationOption& is_implementation_option);
// Returns the models in context.dlroof.suites of both runs, each name once.
std::vector<Model> ModelsIn(const VersusCluster& a, const VersusCluster& b,
                            const IsImplementationOption& is_implementation_option);

// One pass of a model in one type (ComparedType): sums over the layers in A and B, of each layer's
// FastestByKey record.
struct VersusModel : VersusSums {
  std::string model, pass;  // "inference", or "training": forward and both gradients
  std::string type;
  double layers = 0;  // [1] of the model, counting each occurrence
  // [1] layers that A (or B) can run: each call of the layer has a time, and none is a fallback
  double in_a = 0, in_b = 0;
  double in_both = 0;                // [1] layers in A and B
  std::vector<std::string> missing;  // problems of layers that A or B lacks
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

// Returns the report: tables, and sentences on their sources and assumptions.
document::Document VersusDocument(const VersusReport& report);
std::string VersusTitle(const VersusReport& report);
// Returns an object with "a", "b", "rows", "totals", "models"; unknown quantities have no key.
nlohmann::json VersusJson(const VersusReport& report);

// Returns the machines of a cluster as text, e.g. "AMD EPYC (2 threads)".
std::string MachinesText(const VersusCluster& cluster);

}  // namespace dlroof::cluster
