// Sources of energy counters. Each is a file that registers a row; the first that can count here is
// taken, and several are never added.
//
// The kernel's tree of small files, one line each, which are read anew each time; and the packages
// of CPUs, as it numbers them.
//
// CPU time of other programs: what they did meanwhile is in the energy of whole packages.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

// Returns the file's text without spaces at its end, of at most 127 bytes; `error` is errno, 0
// where it could be read.
std::string ReadKernelFile(const std::filesystem::path& path, int& error);

// [J] of a file that has a whole number of microjoules. Throws BadInput: it cannot be read, where
// that is not allowed with the `cure`; or it has another text.
double ReadMicrojoules(const std::filesystem::path& path, const std::string& cure);

// A counter in such a file. Throws as ReadMicrojoules does.
EnergyDomain MicrojouleDomain(const std::string& name, bool counted,
                              const std::filesystem::path& path, const std::string& cure);

// Returns 12 of "cpu12" with prefix "cpu"; absent: the name is not the prefix and a number.
std::optional<int> NumberBehind(std::string_view prefix, std::string_view name);

// The CPUs of each package that are online, from SYSFS/devices/system/cpu; empty: the kernel does
// not tell.
std::map<int, std::vector<int>> CpusOfPackages(const std::filesystem::path& sysfs);

// Returns whether this process has the package to itself; false: it may use no CPU of it. Throws
// BadInput: it shares the package, or the kernel does not tell its CPUs.
bool OwnsPackage(const std::map<int, std::vector<int>>& packages, int package,
                 const EnergyPlace& place);

// [s] that all CPUs together worked since the system started, by /proc/stat's text and the length
// of its ticks; absent: it has another form.
std::optional<double> BusySeconds(std::string_view stat, double ticks_per_second);

// [s] that CPUs worked for other programs than this one, since any moment; absent: not known.
std::optional<double> CpuSecondsOfOthers();

}  // namespace dlroof::energy
