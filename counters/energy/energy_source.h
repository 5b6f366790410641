// Sources of energy counters. Each source's file registers a row; a run uses the first source that
// can count here and never adds several. Also what the sources share: reading sysfs, the CPUs of
// packages, and the CPU time of other programs, whose energy is in the counters of a package too.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/error.h"

namespace dlroof::energy {

// One counter.
struct EnergyDomain {
  std::string name;     // "package-0", "dram-0", "psys", "gpu"
  bool counted = true;  // whether it belongs to the sum; false for one that overlaps others
  // Returns the energy since some fixed moment in the past [J]. Throws BadInput if the counter
  // cannot be read any more.
  std::function<double()> joules;
  std::optional<double> range_joules;  // [J] after which the counter wraps around, if it does
};

// The part of the system that sources look at.
struct EnergyPlace {
  std::filesystem::path sysfs = "/sys";
  std::vector<int> allowed_cpus;  // of this process, ascending
};

struct EnergyCounters {
  std::vector<EnergyDomain> domains;
  std::string covers = {};            // "packages and DRAM; no fans, NIC, power supply"
  std::optional<Reason> reason = {};  // why no domain can be counted, with the cure
};

struct EnergySource {
  std::string name;  // "powercap", "perf"
  int rank = 0;      // of the sources that can count, the one with the lowest rank is used
  std::function<EnergyCounters(const EnergyPlace&)> open;
};

// Registers a source, whose `open` may throw BadInput instead of setting `reason`. Call at
// namespace scope. Returns true.
bool RegisterEnergySource(EnergySource source);
// By rank.
std::vector<EnergySource> AllEnergySources();

// Returns the root of the sysfs tree: $DLROOF_SYSFS (for tests), otherwise /sys.
std::filesystem::path SysfsRoot();

// Returns at most 127 bytes of the file, without trailing white space. Sets `error` to errno, or to
// 0 on success.
std::string ReadKernelFile(const std::filesystem::path& path, int& error);

// [J] Reads a file that holds a whole number of microjoules. Throws BadInput if it has another text
// or cannot be read; the message has the `cure` if the permission is missing.
double ReadMicrojoules(const std::filesystem::path& path, const std::string& cure);

// A counter in such a file. Throws as ReadMicrojoules does.
EnergyDomain MicrojouleDomain(const std::string& name, bool counted,
                              const std::filesystem::path& path, const std::string& cure);

// Returns 12 for prefix "cpu" and name "cpu12", or nullopt if the name has another form.
std::optional<int> NumberBehind(std::string_view prefix, std::string_view name);

// Returns the online CPUs of each package from SYSFS/devices/system/cpu, or no packages if the
// kernel does not report them.
std::map<int, std::vector<int>> CpusOfPackages(const std::filesystem::path& sysfs);

// Returns true if this process may use all CPUs of the package, false if it may use none. Throws
// BadInput if it may use only some of them, or if the package's CPUs are unknown.
bool OwnsPackage(const std::map<int, std::vector<int>>& packages, int package,
                 const EnergyPlace& place);

// [s] busy time of all CPUs since boot, from the text of /proc/stat. Returns nullopt if the text
// has another form.
std::optional<double> BusySeconds(std::string_view stat, double ticks_per_second);

// [s] CPU time of other programs since boot, or nullopt if unknown.
std::optional<double> CpuSecondsOfOthers();

}  // namespace dlroof::energy
