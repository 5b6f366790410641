// The same operators on two clusters (say one with GPUs and one with CPUs), prices of their nodes,
// and their energy in classes that no ratio mixes. Pure, but for ReadPrices.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ceilings/machine/machine.h"
#include "reporters/record/run_file.h"
#include "reporters/roofline/placed_run.h"

namespace dlroof::cluster {

// The price of the nodes that match.
struct PriceKind {
  std::string name;             // substring of the machine's name; "" matches all
  std::string fingerprint;      // of the machine; "" matches all
  double per_node_hour = 0;     // [currency/h] of a node with all its devices, > 0
  std::optional<int> devices;   // [1] per node, if the file has it
  std::optional<double> watts;  // [W] of a node under load, if the file has it
  std::string how;              // derivation of `per_node_hour`: "1.2 USD per node and hour"
};

struct Prices {
  std::string currency;  // "USD"
  std::vector<PriceKind> kinds;
};

// Reads {"currency": "USD", "kinds": [KIND, ...]}, which the user writes; no price has a default. A
// kind has "match" (an object of "name", "fingerprint" or both), may have "devices", and has one of
// two prices:
//   "per_node_hour" and, if known, "watts" (of a node under load)
//   "capital", "years", "utilisation" (above 0, at most 1) and, all three or none, "watts", "pue"
//   (at least 1), "per_kwh"
// Throws BadInput with FILE:LINE:COLUMN for anything else.
Prices ReadPrices(const std::string& path);
Prices ParsePrices(const std::string& text, const std::string& where);

// Returns the first kind that matches, or null.
const PriceKind* PriceOf(const Prices& prices, const machine::Machine& machine);

enum class EnergyClass {
  kMeasured,  // counters of the devices, around the calls themselves
  kMetered,   // a meter of the whole node, in a window of calls
  kAssumed    // the watts of a node under load, from the file of prices, times its seconds
};
std::string_view Key(EnergyClass energy_class);
inline constexpr std::array kEnergyClasses = {EnergyClass::kMeasured, EnergyClass::kMetered,
                                              EnergyClass::kAssumed};

struct Joules {
  double joules = 0;                              // [J] of a call, or of all calls of a model
  std::optional<std::pair<double, double>> ci95;  // [J]; set if each summand has one
  bool noisy = false;  // other programs contributed to it, or its time is an estimate
};
// Has the classes whose energy is known.
using Energies = std::map<EnergyClass, Joules>;

struct EnergyRatio {
  double a_over_b = 0;                            // [1]
  std::optional<std::pair<double, double>> ci95;  // [1]; set if both sides have one
  bool noisy = false;
};

// Returns the energies of one call of a record of `run`, on a node whose `devices` each make such a
// call at once. `prices` may be null.
Energies EnergiesOf(const record::RunFile& run, const record::Record& record,
                    const record::Timing& timing, int devices, const Prices* prices);

// Returns the ratio of each class that both sides have.
std::map<EnergyClass, EnergyRatio> EnergyRatios(const Energies& a, const Energies& b);

// A sum over calls. It has a class if every call has it. Intervals add as squares of their
// distances (MOVER).
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

// Returns whether an option of a name chooses an implementation ("nchw"), rather than what is
// computed.
using IsImplementationOption = std::function<bool(std::string_view option)>;

struct VersusCluster {
  std::string where;  // the files' names
  roofline::PlacedRun run;
  int devices = 1;             // [1] per node; a node's rate is this many times a device's
  bool devices_known = false;  // specified by the user or a file
};

struct VersusOptions {
  const Prices* prices = nullptr;  // may be null
  // If it is not set, every option says what is computed.
  IsImplementationOption is_implementation_option;
  bool best_type = false;  // for each operator, take each side's fastest record of any type
};

// One cluster's half of a row.
struct VersusSide {
  std::size_t record = 0;            // index into the cluster's records
  record::Timing timing;             // [s] of one call on one device
  double calls_per_second = 0;       // [1/s] of a device
  double node_calls_per_second = 0;  // [1/s] of a node, all its devices
  std::optional<double> fraction;    // [1] of the binding roof, if that is validated
  bool specified = false;            // that roof is specified, not measured
  std::string bound;                 // "DRAM", "compute", "overhead"; may be empty
  bool bound_by_overhead = false;
  // [flop] of one call, by this side's best provenance
  std::optional<double> counted_flops;
  std::optional<double> cost;  // [currency] per 1e15 FLOP, if price and FLOPs are known
  Energies energies;           // [J] of one call
};

struct VersusRow {
  // op/direction/type/problem[/option...], without implementation options; "bf16|f16" where A's
  // type is not B's.
  std::string key;
  VersusSide a, b;
  // [flop] of one call, for both sides: the problem's own (modelled) if a side knows them. Not set
  // if neither does, or they differ; then each side's cost uses its own FLOPs.
  std::optional<double> flops;
  double nodes_of_a = 0;  // [1] with the calls per second of one node of B
  std::optional<std::pair<double, double>> nodes_ci95;  // [1]; set if both times have one
  bool noisy = false;                                   // one of the two times is an estimate
  std::map<EnergyClass, EnergyRatio> energy_ratios;     // of classes that both sides have
  std::vector<std::string> differences;                 // "library: onednn | cudnn", A's first
};

struct Versus {
  std::vector<VersusRow> rows;         // in A's order, then in B's
  std::size_t operators = 0;           // [1] different keys among them
  std::size_t only_a = 0, only_b = 0;  // [1] operators with a time on this side only
  std::string currency;                // "" without prices
  // The price of each side ("2.5 USD per node and hour") or why it has none; "" without prices.
  std::string price_a, price_b;
};

// Pairs records with equal keys. If a side has several of one key (libraries, implementation
// options), each makes a row; where both sides have an implementation option, only records with it
// are paired. With best_type there is one row per operator. Throws BadInput if the runs have
// different conventions, or no operator in common.
Versus MakeVersus(const VersusCluster& a, const VersusCluster& b, const VersusOptions& options);

// Returns the 95 % interval of x / y from those of x and y, all > 0: in logarithms the distances
// add as squares (MOVER, Donner and Zou 2012). Returns nothing if either interval is missing.
std::optional<std::pair<double, double>> RatioInterval(
    double x, const std::optional<std::pair<double, double>>& x_ci95, double y,
    const std::optional<std::pair<double, double>>& y_ci95);

// Returns the FLOPs of a record by its most trusted provenance [flop].
std::optional<double> CountedFlops(const record::Record& record, Provenance from);

}  // namespace dlroof::cluster
