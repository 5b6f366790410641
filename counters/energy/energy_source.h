// The energy counters of the CPU (powercap), the CPUs of packages, and the CPU time of other
// programs, because a package's counter includes their energy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::energy {

// One energy counter.
struct EnergyDomain {
  std::string name;     // "package-0", "dram-0", "psys", "gpu"
  bool counted = true;  // false if it overlaps other domains and is not in the sum
  // Returns the energy [J] since some fixed moment. Throws BadInput if it cannot be read any more.
  std::function<double()> joules;
  std::optional<double> range_joules;  // [J] at which the counter wraps around
};

// The parts of the system that powercap reads.
struct EnergyPlace {
  std::filesystem::path sysfs = "/sys";
  std::vector<int> allowed_cpus;  // CPUs that this process may use, ascending
};

struct EnergyCounters {
  std::vector<EnergyDomain> domains;
  std::string covers = {};  // "packages and DRAM; no fans, NIC, power supply"
};

// Opens the counters of powercap. Throws BadInput if no domain can be counted: why, and the cure.
EnergyCounters OpenPowercap(const EnergyPlace& place);

// Returns the root of the sysfs tree: $DLROOF_SYSFS (for tests), otherwise /sys.
std::filesystem::path SysfsRoot();

// Returns a file's first 127 bytes, without trailing white space. Sets `error` to errno, or 0.
std::string ReadKernelFile(const std::filesystem::path& path, int& error);

// Returns each package's online CPUs (SYSFS/devices/system/cpu), or nothing if they are unknown.
std::map<int, std::vector<int>> CpusOfPackages(const std::filesystem::path& sysfs);

// Returns whether this process may use all CPUs (true) or no CPU (false) of the package. Throws
// BadInput if it may use only some, or if the package's CPUs are unknown.
bool OwnsPackage(const std::map<int, std::vector<int>>& packages, int package,
                 const EnergyPlace& place);

// [s] Returns the busy time of all CPUs since boot from /proc/stat, or nullopt for another format.
std::optional<double> BusySeconds(std::string_view stat, double ticks_per_second);

// [s] Returns the CPU time of other programs since boot, or nullopt if it is unknown.
std::optional<double> CpuSecondsOfOthers();

}  // namespace dlroof::energy
