#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "counters/base/error.h"
#include "counters/energy/energy_source.h"

// Energy from the kernel's hardware monitors: cumulative counters of microjoules,
// SYSFS/class/hwmon/ hwmon*/energyN_input, of which driver amd_energy labels those of packages
// "Esocket0" and those of cores "Ecore000". Its counters are 64 bits wide: they never begin anew.
// https://www.kernel.org/doc/html/latest/hwmon/sysfs-interface.html

namespace dlroof::energy {
namespace {

namespace fs = std::filesystem;

constexpr char kHwmonCure[] =
    "only root may read it: a udev rule gives it to all, SUBSYSTEM==\"hwmon\", ACTION==\"add\", "
    "RUN+=\"/bin/chmod -R a+r /sys%p\"";

// The text of a file; empty where it cannot be read.
std::string TextOfSensor(const fs::path& path) {
  int error = 0;
  return ReadKernelFile(path, error);
}

// The sensors of all monitors, as far as they are of CPUs.
struct HwmonSensors {
  std::map<int, fs::path> counters;     // of energy, by package
  std::vector<std::string> watts_only;  // "Grace Power Socket 0", by path
};

// Adds the file `path` ("energy1_input", "power1_average") of the monitor `driver`.
void AddSensor(const fs::path& path, const std::string& driver, HwmonSensors& sensors) {
  const auto name = path.filename().string();
  const auto sensor = (path.parent_path() / name.substr(0, name.find('_'))).string();
  const auto label = TextOfSensor(sensor + "_label");
  if (name.starts_with("energy") && name.ends_with("_input")) {
    if (const auto package = NumberBehind("Esocket", label)) sensors.counters[*package] = path;
  } else if (name.starts_with("power") && name.ends_with("_average")) {
    // ACPI's power meters, which have their name as the maker's text. A GPU's are not of CPUs.
    const auto by_maker = TextOfSensor(sensor + "_oem_info");
    const auto& known = by_maker.empty() ? label : by_maker;
    if (driver == "power_meter" || known.find("Socket") != std::string::npos)
      sensors.watts_only.push_back(known.empty() ? name : known);
  }
}

HwmonSensors ReadSensors(const fs::path& sysfs) {
  HwmonSensors sensors;
  std::error_code none;
  std::map<fs::path, std::string> drivers;  // by the sensors' files
  for (const auto& monitor : fs::directory_iterator(sysfs / "class/hwmon", none)) {
    const auto driver = TextOfSensor(monitor.path() / "name");
    for (const auto& file : fs::directory_iterator(monitor.path(), none))
      drivers[file.path()] = driver;
  }
  for (const auto& [path, driver] : drivers) AddSensor(path, driver, sensors);
  return sensors;
}

std::string WhyNoCounters(const HwmonSensors& sensors, const fs::path& sysfs) {
  if (sensors.watts_only.empty())
    return fmt::format("{} has no energy counter of a package (driver amd_energy)",
                       (sysfs / "class/hwmon").string());
  return fmt::format(
      "this machine tells its watts only ({}), and no counter adds them up: --dlroof_meter_seconds "
      "and a log of these watts give the energy (dlroof cluster gather --meter)",
      fmt::join(sensors.watts_only, ", "));
}

EnergyCounters OpenHwmon(const EnergyPlace& place) {
  const auto sensors = ReadSensors(place.sysfs);
  if (sensors.counters.empty()) throw BadInput(WhyNoCounters(sensors, place.sysfs));
  const auto packages = CpusOfPackages(place.sysfs);
  EnergyCounters opened{.covers = "packages; no DRAM, fans, NIC, power supply", .why_not = ""};
  for (const auto& [package, file] : sensors.counters)
    if (OwnsPackage(packages, package, place))
      opened.domains.push_back(
          MicrojouleDomain(fmt::format("package-{}", package), true, file, kHwmonCure));
  if (opened.domains.empty()) throw BadInput("no counter is of a package of this process");
  return opened;
}

[[maybe_unused]] const bool hwmon_registered = RegisterEnergySource({"hwmon", 3, OpenHwmon});

}  // namespace
// Energy from the kernel's powercap tree: Intel's RAPL counters, and AMD's under the same names.
// SYSFS/class/powercap/intel-rapl:A is a package ("package-0", "package-0-die-1") or the platform
// ("psys"), intel-rapl:A:B a part of package A ("core", "uncore", "dram"). DRAM is the only part
// that the package's own count leaves out.
// https://www.kernel.org/doc/html/latest/power/powercap/powercap.html

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kZonePrefix = "intel-rapl:";  // not intel-rapl-mmio:, the same counters

constexpr char kPowercapCure[] =
    "only root may read it (since Linux 5.10): a udev rule gives it to all, "
    "SUBSYSTEM==\"powercap\", ACTION==\"add\", RUN+=\"/bin/chmod -R a+r /sys%p\"";

struct Zone {
  fs::path path;
  std::string name;     // "package-0", "dram", "psys"
  std::string package;  // of a part: the name of the zone that it is part of; else empty
};

// In the order of their names.
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
    const auto part = name.find(':', kZonePrefix.size());
    if (part != std::string::npos) {
      const auto whole = paths.find(name.substr(0, part));
      zone.package = whole == paths.end() ? "?" : ReadKernelFile(whole->second / "name", error);
    }
    if (!zone.name.empty()) zones.push_back(std::move(zone));
  }
  return zones;
}

// 0 of "package-0" and "package-0-die-1"; absent for other names.
std::optional<int> PackageOf(std::string_view name) {
  constexpr std::string_view kPackage = "package-";
  if (!name.starts_with(kPackage)) return std::nullopt;
  name.remove_prefix(kPackage.size());
  int package = 0;
  if (std::from_chars(name.data(), name.data() + name.size(), package).ec != std::errc())
    return std::nullopt;
  return package;
}

EnergyDomain DomainOf(const Zone& zone, const std::string& name, bool counted) {
  auto domain = MicrojouleDomain(name, counted, zone.path / "energy_uj", kPowercapCure);
  domain.range_joules = ReadMicrojoules(zone.path / "max_energy_range_uj", kPowercapCure);
  return domain;
}

// The domains of zones, as far as they belong to this process.
class Opened {
 public:
  explicit Opened(const EnergyPlace& place)
      : place_(place), packages_(CpusOfPackages(place.sysfs)) {}

  // Throws BadInput: it cannot be read, or is shared.
  void Add(const Zone& zone) {
    if (zone.package.empty() && zone.name == "psys") {
      counters_.domains.push_back(DomainOf(zone, zone.name, false));
    } else if (zone.package.empty() && PackageOf(zone.name) && Ours(*PackageOf(zone.name))) {
      counters_.domains.push_back(DomainOf(zone, zone.name, true));
      ++packages_counted_;
    } else if (zone.name == "dram" && PackageOf(zone.package) && Ours(*PackageOf(zone.package))) {
      const auto number = zone.package.substr(zone.package.find('-'));  // "-0", "-0-die-1"
      counters_.domains.push_back(DomainOf(zone, zone.name + number, true));
      ++dram_counted_;
    }
  }

  // Throws BadInput: none of them counts.
  EnergyCounters Result() {
    if (packages_counted_ == 0) throw BadInput("the tree has no package that this process may use");
    counters_.covers =
        dram_counted_ == packages_counted_ ? "packages and DRAM; no fans, NIC, power supply"
        : dram_counted_ == 0               ? "packages; no DRAM, fans, NIC, power supply"
                                           : fmt::format(
                                                 "packages and DRAM of {} of {} of them; no fans, NIC, "
                                                               "power supply",
                                                 dram_counted_, packages_counted_);
    return std::move(counters_);
  }

 private:
  bool Ours(int package) const { return OwnsPackage(packages_, package, place_); }

  const EnergyPlace& place_;
  std::map<int, std::vector<int>> packages_;
  EnergyCounters counters_;
  int packages_counted_ = 0, dram_counted_ = 0;
};

EnergyCounters OpenPowercap(const EnergyPlace& place) {
  const auto zones = ReadZones(place.sysfs);
  if (zones.empty())
    throw BadInput(
        "{} has no intel-rapl:*: the kernel lacks CONFIG_POWERCAP or the module intel_rapl_msr, or "
        "this is a virtual machine, to which its host must pass the counters",
        (place.sysfs / "class/powercap").string());
  Opened opened(place);
  for (const Zone& zone : zones) opened.Add(zone);
  return opened.Result();
}

[[maybe_unused]] const bool powercap_registered =
    RegisterEnergySource({"powercap", 1, OpenPowercap});

}  // namespace
}  // namespace dlroof::energy
