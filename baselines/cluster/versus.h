// Prices of nodes, from a file that the user writes. No price has a default.
//
// The same operators on two clusters, a GPU's beside a CPU's, and their energy in classes that no
// ratio mixes. Pure functions over two runs.
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

// The price of nodes that match.
struct PriceKind {
  std::string name;             // part of the machine's name; empty: any name
  std::string fingerprint;      // of the machine; empty: any fingerprint
  double per_node_hour = 0;     // [currency/h] of a node with all its devices, > 0
  std::optional<int> devices;   // [1] of a node; absent: the file does not say
  std::optional<double> watts;  // [W] of a node that works; absent: the file does not say
  std::string how;              // "1.2 USD per node and hour": how `per_node_hour` came about
};

struct Prices {
  std::string currency;  // "USD"
  std::vector<PriceKind> kinds;
};

// Reads {"currency": "USD", "kinds": [KIND, ...]}. A kind has "match" (an object of "name",
// "fingerprint" or both), may have "devices", and has one of two prices:
//   "per_node_hour" and, if known, "watts" (of a node that works)
//   "capital", "years", "utilisation" (above 0, at most 1) and, all three or none, "watts", "pue"
//   (at least 1), "per_kwh"
// Throws BadInput with FILE:LINE:COLUMN for anything else.
Prices ReadPrices(const std::string& path);
Prices ParsePrices(const std::string& text, const std::string& where);

// Returns the first kind that matches; null where none does.
const PriceKind* PriceOf(const Prices& prices, const machine::Machine& machine);

enum class EnergyClass {
  kMeasured,  // counters of the devices, around the calls themselves
  kMetered,   // a meter of the whole node, in a window of calls
  kAssumed    // the watts of a node that works, from the file of prices, times its seconds
};
std::string_view Key(EnergyClass energy_class);
inline constexpr std::array kEnergyClasses = {EnergyClass::kMeasured, EnergyClass::kMetered,
                                              EnergyClass::kAssumed};

struct Joules {
  double joules = 0;                              // [J] of a call, or of all calls of a model
  std::optional<std::pair<double, double>> ci95;  // [J]; absent where a part has none
  bool noisy = false;  // other programs had a part in it, or its time is an estimate
};
// A class without an energy is absent.
using Energies = std::map<EnergyClass, Joules>;

struct EnergyRatio {
  double a_over_b = 0;                            // [1]
  std::optional<std::pair<double, double>> ci95;  // [1]; absent where a side has none
  bool noisy = false;
};

// The energies of one call of a record of `run`, of which a node of `devices` makes as many at
// once. `prices` may be null.
Energies EnergiesOf(const record::RunFile& run, const record::Record& record,
                    const record::Timing& timing, int devices, const Prices* prices);

// Returns the ratio of each class that both sides have.
std::map<EnergyClass, EnergyRatio> EnergyRatios(const Energies& a, const Energies& b);

// A sum of calls. It has a class if every call has; intervals add as squares of their distances
// (MOVER).
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

// Returns whether an option of a name says how a library works ("nchw"), not what it computes.
using IsImplementationOption = std::function<bool(std::string_view option)>;

struct VersusCluster {
  std::string where;  // the files' names
  roofline::PlacedRun run;
  int devices = 1;             // [1] of a node; several count as that many times one
  bool devices_known = false;  // a user or a file says so
};

struct VersusOptions {
  const Prices* prices = nullptr;  // null: none
  IsImplementationOption is_implementation_option;              // empty: every option says what is computed
  bool best_type = false;          // of an operator each side has its fastest record, of any type
};

// One cluster's part of a row.
struct VersusSide {
  std::size_t record = 0;            // index into the cluster's records
  record::Timing timing;             // [s] of one call on one device
  double calls_per_second = 0;       // [1/s] of a device
  double node_calls_per_second = 0;  // [1/s] of a node, all its devices
  std::optional<double> fraction;    // [1] of the roof that binds; absent in doubt
  bool specified = false;            // that roof is given, not measured
  std::string bound;                 // "DRAM", "compute", "overhead"; empty: not known
  bool bound_by_overhead = false;
  // [flop] of one call as this side counted them best; absent: not known
  std::optional<double> counted_flops;
  std::optional<double> cost;  // [currency] for 1e15 FLOP; absent without price or FLOPs
  Energies energies;           // [J] of one call
};

struct VersusRow {
  // op/direction/type/problem[/option...], without options of manner; "bf16|f16" where A's type is
  // not B's.
  std::string key;
  VersusSide a, b;
  // [flop] of one call, for both: the problem's own (modelled) where a side knows them. Absent:
  // neither does, or they differ; costs then rest on each side's own, where it knows some.
  std::optional<double> flops;
  double nodes_of_a = 0;  // [1] that make as many calls per second as one node of B
  std::optional<std::pair<double, double>> nodes_ci95;  // [1]; absent where a time has none
  bool noisy = false;                                   // one of the two times is an estimate
  std::map<EnergyClass, EnergyRatio> energy_ratios;     // of classes that both sides have
  std::vector<std::string> differences;                 // "library: onednn | cudnn", A's first
};

struct Versus {
  std::vector<VersusRow> rows;         // in A's order, then in B's
  std::size_t operators = 0;           // [1] different keys among them
  std::size_t only_a = 0, only_b = 0;  // [1] operators with a time on one side alone
  std::string currency;                // empty: no prices
  // The price of each side: "2.5 USD per node and hour", or why there is none; empty: no prices.
  std::string price_a, price_b;
};

// Pairs records of equal keys. Where a side has several of one key (libraries, options of manner)
// each makes a row; options of manner that both sides have keep to each other. With best_type there
// is one row for each operator. Throws BadInput: the runs have different conventions, or no
// operator in common.
Versus MakeVersus(const VersusCluster& a, const VersusCluster& b, const VersusOptions& options);

// Returns the 95 % interval of x / y from those of x and y, all > 0: in logarithms the distances
// add as squares (MOVER, Donner and Zou 2012). Absent where one is.
std::optional<std::pair<double, double>> RatioInterval(
    double x, const std::optional<std::pair<double, double>>& x_ci95, double y,
    const std::optional<std::pair<double, double>>& y_ci95);

// Returns the FLOPs of a record's most trusted count of them [flop]; absent where none is known.
std::optional<double> CountedFlops(const record::Record& record, Provenance from);

}  // namespace dlroof::cluster
