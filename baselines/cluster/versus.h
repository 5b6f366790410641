// Compares the same operators on two clusters A and B (for example with GPUs and with CPUs), by
// time, price and energy (energies of one class only). Pure, but for ReadPrices.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/cluster/call_time.h"
#include "baselines/cluster/gather.h"
#include "ceilings/machine/machine.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::cluster {

// The price of the nodes whose machine matches `name` and `fingerprint`.
struct PriceKind {
  std::string name;             // substring of the machine's name; "" matches all
  std::string fingerprint;      // of the machine; "" matches all
  double per_node_hour = 0;     // [currency/h] of a node with all its devices, > 0
  std::optional<int> devices;   // [1] per node; set if the file has it
  std::optional<double> watts;  // [W] of a node under load; set if the file has it
};

struct Prices {
  std::string currency;  // "USD"
  std::vector<PriceKind> kinds;
};

// Reads the user's {"currency": "USD", "kinds": [KIND, ...]}. No price has a default. A kind has
// "match" ("name", "fingerprint" or both), "per_node_hour" and optionally "devices" and "watts" (of
// a node under load). Throws BadInput with FILE:LINE:COLUMN for anything else.
Prices ReadPrices(const std::string& path);
Prices ParsePrices(const std::string& text, const std::string& where);

// Returns the first kind of nodes that matches the machine, or null.
const PriceKind* PriceOf(const Prices& prices, const machine::Machine& machine);

enum class EnergyClass {
  kMeasured,  // by energy counters of the devices, read before and after the calls
  kAssumed    // watts of a node under load, from the file of prices, times the call's seconds
};
std::string_view Key(EnergyClass energy_class);
inline constexpr std::array kEnergyClasses = {EnergyClass::kMeasured, EnergyClass::kAssumed};

struct Joules {
  double joules = 0;                              // [J] of a call, or of all calls of a model
  std::optional<std::pair<double, double>> ci95;  // [J]; set if each summand has an interval
  bool noisy = false;  // includes energy of other programs, or its time is an estimate
};
// Class -> energy, for the classes whose energy is known.
using Energies = std::map<EnergyClass, Joules>;

struct EnergyRatio {
  double a_over_b = 0;                            // [1]
  std::optional<std::pair<double, double>> ci95;  // [1]; set if both clusters have an interval
  bool noisy = false;
};

// Returns the energies of one call of `record`, on a node all of whose `devices` make such calls at
// the same time. `prices` may be null.
Energies EnergiesOf(const record::RunFile& run, const record::Record& record,
                    const record::Timing& timing, int devices, const Prices* prices);

// Returns A's energy divided by B's, for each class that both have.
std::map<EnergyClass, EnergyRatio> EnergyRatios(const Energies& a, const Energies& b);

// The sum of the energies of calls, for the classes that every call has. The half-widths of the
// intervals are added in quadrature (MOVER).
class EnergySum {
 public:
  void Add(const Energies& of_one_call, double count);
  Energies Total() const;

 private:
  struct Sum {
    Joules joules;
    double below = 0, above = 0;  // [J]
    bool interval = true;
    int calls = 0;
  };
  std::map<EnergyClass, Sum> sums_;
  int calls_ = 0;
};

// Returns whether an option in a benchmark's name chooses an implementation ("nchw") and does not
// change the result.
using IsImplementationOption = std::function<bool(std::string_view option)>;

struct VersusCluster {
  std::string where;  // the files' names
  roofline::PlacedRun run;
  int devices = 1;  // [1] per node; a node makes this many times a device's calls per second
  bool devices_known = false;  // specified by the user or a file
  // Set for a cluster file: each time is the median over nodes.
  std::optional<EstimateCount> node_times = {};
};

struct VersusOptions {
  const Prices* prices = nullptr;  // may be null
  // If it is not set, no option chooses an implementation.
  IsImplementationOption is_implementation_option;
  bool best_type = false;                  // compare each cluster's fastest record of any data type
  CallTime times = CallTime::kThroughput;  // the times to compare; UseTimes() chose them in both
};

// The facts of one cluster in a VersusRow.
struct VersusSide {
  std::size_t record = 0;  // index into the cluster's records
  record::Timing timing;   // [s] of one call on one device
  // [1/s] of a device: 1 / timing.median, with calls that follow each other unless the latency is
  // compared
  double calls_per_second = 0;
  double node_calls_per_second = 0;          // [1/s] of a node, all its devices
  std::optional<roofline::RoofShare> share;  // of the binding roof
  bool specified = false;                    // the binding roof is specified, not measured
  std::string bound;                         // "DRAM", "compute", "overhead"; may be empty
  bool bound_by_overhead = false;
  // [flop] of one call, by the most trusted provenance of this record
  std::optional<double> counted_flops;
  std::optional<double> cost;  // [currency] per 1e15 FLOP, if price and FLOPs are known
  Energies energies;           // [J] of one call
};

struct VersusRow {
  // op/direction/type/problem[/option...], without implementation options; the type is "bf16|f16"
  // if A's and B's differ.
  std::string key;
  VersusSide a, b;
  // [flop] of one call on both clusters: modelled by A or B, else counted equally by both. Not set
  // if they are unknown or differ; each cluster's cost then uses its own counted_flops.
  std::optional<double> flops;
  double nodes_of_a = 0;  // [1] number of A's nodes with the calls per second of one node of B
  std::optional<std::pair<double, double>> nodes_ci95;  // [1]; set if both times have one
  bool noisy = false;                                   // A's or B's time is an estimate
  std::map<EnergyClass, EnergyRatio> energy_ratios;     // of classes that both sides have
  std::vector<std::string> differences;                 // "library: onednn | cudnn", A's first
};

struct Versus {
  std::vector<VersusRow> rows;         // in A's order, then in B's
  std::size_t operators = 0;           // [1] number of different keys of `rows`
  std::size_t only_a = 0, only_b = 0;  // [1] operators with a time on one cluster only
  CallTime times = CallTime::kThroughput;
  std::string currency;  // "" without prices
  // Price of A's and B's nodes ("2.5 USD per node and hour") or why it is unknown; "" without
  // prices.
  std::string price_a, price_b;
};

// Pairs A's and B's records of the same operator. Several records of an operator (libraries,
// implementation options) result in several rows; an implementation option that A and B both have
// is only paired with itself. With best_type there is one row per operator. Throws BadInput if the
// runs have different conventions, or no operator in common.
Versus MakeVersus(const VersusCluster& a, const VersusCluster& b, const VersusOptions& options);

// Returns the 95 % interval of x / y from the intervals of x and y, all > 0: half-widths of
// logarithms add in quadrature (MOVER, Donner and Zou 2012). Returns nothing if one is missing.
std::optional<std::pair<double, double>> RatioInterval(
    double x, const std::optional<std::pair<double, double>>& x_ci95, double y,
    const std::optional<std::pair<double, double>>& y_ci95);

// Returns the FLOPs of a record [flop] that were counted by the provenance `from`, if known.
std::optional<double> CountedFlops(const record::Record& record, Provenance from);

}  // namespace dlroof::cluster
