// The energy of calls on two clusters, in classes that no ratio mixes. Pure.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "baselines/versus/prices.h"
#include "reporters/record/run_file.h"

namespace dlroof {

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
  bool disturbed = false;  // other programs had a part in it, or its time is an estimate
};
// A class without an energy is absent.
using Energies = std::map<EnergyClass, Joules>;

struct EnergyRatio {
  double a_over_b = 0;                            // [1]
  std::optional<std::pair<double, double>> ci95;  // [1]; absent where a side has none
  bool disturbed = false;
};

// The energies of one call of a record of `run`, of which a node of `devices` makes as many at
// once. `prices` may be null.
Energies EnergiesOf(const RunFile& run, const Record& record, const Timing& timing, int devices,
                    const Prices* prices);

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

}  // namespace dlroof
