// The energy source powercap: RAPL counters in sysfs.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/keys.h"
#include "counters/base/process.h"
#include "counters/energy/energy_meter.h"

namespace dlroof::energy {
namespace {

namespace fs = std::filesystem;

// Returns a file's first 127 bytes, without trailing white space. Sets `error` to errno, or 0.
std::string ReadKernelFile(const fs::path& path, int& error) {
  std::array<char, 127> text{};
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto got = file.get() < 0 ? -1 : read(file.get(), text.data(), text.size());
  error = got < 0 ? errno : 0;
  std::string_view line(text.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.remove_suffix(1);
  return std::string(line);
}

// Returns the number after the prefix in the name: 12 for "cpu" and "cpu12", 0 for "package-" and
// "package-0-die-1". Returns nullopt for names of another form.
std::optional<int> NumberBehind(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  int number = 0;
  if (std::from_chars(name.data(), name.data() + name.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

// Returns each package's online CPUs (SYSFS/devices/system/cpu), or an empty map if unknown.
std::map<int, std::vector<int>> CpusOfPackages(const fs::path& sysfs) {
  std::map<int, std::vector<int>> packages;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(sysfs / "devices/system/cpu", none)) {
    const auto cpu = NumberBehind("cpu", entry.path().filename().string());
    std::ifstream file(entry.path() / "topology/physical_package_id");
    if (int package = 0; cpu && file >> package) packages[package].push_back(*cpu);
  }
  return packages;
}

// Returns whether this process may use all CPUs (true) or no CPU (false) of the package. Throws
// BadInput if it may use only some, or if the package's CPUs are unknown.
bool OwnsPackage(const std::map<int, std::vector<int>>& packages, int package,
                 const EnergyPlace& place) {
  const auto* const cpus = FindValue(packages, package);
  if (cpus == nullptr)
    throw BadInput(
        "the CPUs of package {} are unknown ({}), so other programs may share its counter", package,
        (place.sysfs / "devices/system/cpu").string());
  const auto usable = static_cast<std::size_t>(std::ranges::count_if(
      *cpus, [&](int cpu) { return std::ranges::binary_search(place.allowed_cpus, cpu); }));
  if (usable != 0 && usable != cpus->size())
    throw BadInput(
        "this process may use only {} of the {} CPUs of package {}, but the counter covers all of "
        "them: give the process whole packages",
        usable, cpus->size(), package);
  return usable != 0;
}

// Linux lists Intel's RAPL counters, and AMD's under the same names, as zones. The zone
// SYSFS/class/powercap/intel-rapl:A is a package ("package-0", "package-0-die-1") or the platform
// ("psys"); intel-rapl:A:B is a subzone of package A ("core", "uncore", "dram"). DRAM is the only
// subzone whose energy the package's count does not include.
// https://www.kernel.org/doc/html/latest/power/powercap/powercap.html

constexpr std::string_view kZonePrefix =
    "intel-rapl:";  // not intel-rapl-mmio:, whose counters are the same

constexpr std::string_view kPackage = "package-";

constexpr char kPowercapCure[] =
    "only root may read it (since Linux 5.10); to let all users read it, add the udev rule "
    "SUBSYSTEM==\"powercap\", ACTION==\"add\", RUN+=\"/bin/chmod -R a+r /sys%p\"";

struct Zone {
  fs::path path;
  std::string name;     // "package-0", "dram", "psys"
  std::string package;  // for a subzone, the name of the zone that contains it
};

std::vector<Zone> ReadZones(const fs::path& sysfs) {
  std::error_code none;
  std::map<std::string, fs::path> paths;
  for (const auto& entry : fs::directory_iterator(sysfs / "class/powercap", none))
    if (const auto name = entry.path().filename().string(); name.starts_with(kZonePrefix))
      paths[name] = entry.path();
  std::vector<Zone> zones;
  int error = 0;
  for (const auto& [name, path] : paths) {
    Zone zone{path, ReadKernelFile(path / "name", error), ""};
    const auto colon = name.find(':', kZonePrefix.size());
    if (colon != std::string::npos) {
      const auto parent = paths.find(name.substr(0, colon));
      zone.package = parent == paths.end() ? "?" : ReadKernelFile(parent->second / "name", error);
    }
    if (!zone.name.empty()) zones.push_back(std::move(zone));
  }
  return zones;
}

// Returns the energy [J] in a file that contains a whole number of microjoules. Throws BadInput if
// it contains anything else or cannot be read.
double ReadMicrojoules(const fs::path& path) {
  constexpr double kJoulesPerMicrojoule = 1e-6;
  int error = 0;
  const auto text = ReadKernelFile(path, error);
  if (error == EACCES || error == EPERM) throw BadInput("{}: {}", path.string(), kPowercapCure);
  if (error != 0) throw BadInput("{}: {}", path.string(), std::strerror(error));
  const auto microjoules = ParseNumber<std::uint64_t>(text);
  if (!microjoules) throw BadInput("{}: '{}' is not a number of microjoules", path.string(), text);
  return kJoulesPerMicrojoule * static_cast<double>(*microjoules);
}

EnergyDomain DomainOf(const Zone& zone, const std::string& name, bool counted) {
  const auto path = zone.path / "energy_uj";
  ReadMicrojoules(path);  // throws now instead of during a measurement
  return {name, counted, [path] { return ReadMicrojoules(path); },
          ReadMicrojoules(zone.path / "max_energy_range_uj")};
}

}  // namespace

EnergyMeter OpenPowercap(const EnergyPlace& place) {
  const auto zones = ReadZones(place.sysfs);
  if (zones.empty())
    throw BadInput(
        "{} has no intel-rapl:*: the kernel lacks CONFIG_POWERCAP or the module intel_rapl_msr, or "
        "this is a virtual machine whose host does not pass the counters on",
        (place.sysfs / "class/powercap").string());
  const auto packages = CpusOfPackages(place.sysfs);
  const auto ours = [&](const std::string& zone) {
    const auto package = NumberBehind(kPackage, zone);
    return package && OwnsPackage(packages, *package, place);
  };
  EnergyMeter meter{.from = "powercap"};
  int counted = 0, with_dram = 0;  // packages
  for (const Zone& zone : zones)
    if (zone.package.empty() && zone.name == "psys") {
      meter.domains.push_back(DomainOf(zone, zone.name, false));
    } else if (zone.package.empty() && ours(zone.name)) {
      meter.domains.push_back(DomainOf(zone, zone.name, true));
      ++counted;
    } else if (zone.name == "dram" && ours(zone.package)) {
      const auto number = zone.package.substr(zone.package.find('-'));  // "-0", "-0-die-1"
      meter.domains.push_back(DomainOf(zone, zone.name + number, true));
      ++with_dram;
    }
  if (counted == 0)
    throw BadInput("this process may use no CPU of the packages that have counters");
  if (with_dram == 0)
    meter.covers = "packages; no DRAM, fans, NIC, power supply";
  else if (with_dram == counted)
    meter.covers = "packages and DRAM; no fans, NIC, power supply";
  else
    meter.covers = fmt::format("packages and DRAM of {} of {} of them; no fans, NIC, power supply",
                               with_dram, counted);
  return meter;
}

std::filesystem::path SysfsRoot() {
  const char* root = std::getenv("DLROOF_SYSFS");
  return root == nullptr || *root == '\0' ? "/sys" : root;
}

std::optional<double> BusySeconds(std::string_view stat, double ticks_per_second) {
  std::istringstream in{std::string(stat.substr(0, stat.find('\n')))};
  std::string cpu;
  // Fields (proc(5)): user nice system idle iowait irq softirq; user and nice include guests.
  std::array<double, 7> ticks{};
  in >> cpu;
  for (double& count : ticks) in >> count;
  if (!in || cpu != "cpu") return std::nullopt;
  const auto [user, nice, system, idle, iowait, irq, softirq] = ticks;
  return (user + nice + system + irq + softirq) / ticks_per_second;
}

std::optional<double> CpuSecondsOfOthers() {
  const auto busy =
      BusySeconds(ReadFileIfAny("/proc/stat"), static_cast<double>(sysconf(_SC_CLK_TCK)));
  timespec ours{};
  rusage children{};  // those that ended and were waited for
  if (!busy || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ours) != 0 ||
      getrusage(RUSAGE_CHILDREN, &children) != 0)
    return std::nullopt;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return *busy - static_cast<double>(ours.tv_sec) - 1e-9 * static_cast<double>(ours.tv_nsec) -
         seconds(children.ru_utime) - seconds(children.ru_stime);
}

}  // namespace dlroof::energy
