// Sources of energy counters. Each is a file that registers a row; the first that can count here is
// taken, and several are never added.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dlroof::energy {

// One counter.
struct EnergyDomain {
  std::string name;     // "package-0", "dram-0", "psys", "gpu"
  bool counted = true;  // false: it contains others, or is a part of one, and is never added
  // [J] since any moment, of the past. Throws BadInput: it cannot be read any more.
  std::function<double()> joules;
  std::optional<double> range_joules;  // [J] it begins at 0 again after so many; absent: never
};

// The part of the system that sources look at.
struct EnergyPlace {
  std::filesystem::path sysfs = "/sys";
  std::vector<int> allowed_cpus;  // that this process may use, ascending
};

struct EnergyCounters {
  std::vector<EnergyDomain> domains;
  std::string covers;   // "packages and DRAM; no fans, NIC, power supply"
  std::string why_not;  // with the cure; empty: at least one domain counts
};

struct EnergySource {
  std::string name;  // "powercap", "perf"
  int rank = 0;      // the lowest that can count is taken
  std::function<EnergyCounters(const EnergyPlace&)> open;
};

// Called at namespace scope by each source's file, whose `open` may throw BadInput in place of
// `why_not`. Returns true.
bool RegisterEnergySource(EnergySource source);
// By rank.
std::vector<EnergySource> AllEnergySources();

// Where the kernel's tree lies: the environment's DLROOF_SYSFS (for tests), else /sys.
std::filesystem::path SysfsRoot();

}  // namespace dlroof::energy
