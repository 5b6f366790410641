// The energy of calls by a meter of the whole node (BMC, PDU, wall), whose log is read later.
//
// The energy of one call, as counters of the machine tell it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace dlroof::energy {

// A span of time in which calls of one benchmark followed each other.
struct MeteredWindow {
  double begin_seconds = 0;  // [s] since 1970, UTC
  double end_seconds = 0;    // [s] the same
  double calls = 0;          // [1]

  bool operator==(const MeteredWindow&) const = default;
};

struct MeteredEnergy {
  double joules = 0;  // [J] of one call: the median over nodes
  // [J] 95 %; of one node by the spread of its samples, of six and more by their own; else absent
  std::optional<std::pair<double, double>> ci95;
  double seconds = 0;         // [s] of one call meanwhile, median: joules / seconds is power
  double window_seconds = 0;  // [s] of the shortest window
  double period_seconds = 0;  // [s] between two samples, of the slowest meter
  double samples = 0;         // [1] that count, of the node with the fewest
  double nodes = 0;           // [1]
  std::string from;           // the log: "watts.csv"
  std::string covers;         // "all power of the node at its meter, idle parts too"

  bool operator==(const MeteredEnergy&) const = default;
};

struct Energy {
  double joules = 0;  // [J] of one call: the mean of three windows
  // [J] 95 %, Student's, from the three windows; absent: they differ by more than their mean
  std::optional<std::pair<double, double>> ci95;
  std::map<std::string, double> domains;  // [J] of one call: the parts of `joules`
  // [J] of one call: what contains domains or is contained in them ("psys"), no part of `joules`
  std::map<std::string, double> beside;
  double seconds = 0;         // [s] of one call meanwhile, in this pass: joules / seconds is power
  double window_seconds = 0;  // [s] of the shortest window
  double calls = 0;           // [1] in all windows
  std::optional<double> others_cpus;  // [1] CPUs that other programs kept busy; absent: not known
  std::string from;                   // the source: "powercap"
  std::string covers;                 // "packages and DRAM; no fans, NIC, power supply"

  bool operator==(const Energy&) const = default;
};

// Returns whether other programs worked so much meanwhile (a tenth of a CPU) that a part of the
// energy may be theirs.
bool HasOthersEnergy(const Energy& energy);

// The outcome of one benchmark's measurement.
struct EnergyFound {
  std::optional<Energy> energy;
  std::string why_not;  // empty: there is `energy`, or nobody asked
  std::optional<MeteredWindow> window;
  std::string why_no_window;  // empty: there is a `window`, or nobody asked
};

// [W] of a machine that waits.
struct IdlePower {
  double watts = 0;                       // of the domains that count
  std::map<std::string, double> domains;  // [W] each
  double seconds = 0;                     // [s] that it was watched
  std::string from, covers;               // as in Energy
};

// Absent: not known.
struct IdlePowers {
  std::optional<IdlePower> cpu, gpu;
};

}  // namespace dlroof::energy
