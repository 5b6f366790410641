// The energy sources in sysfs: the kernel's hardware monitors (hwmon) and its powercap tree.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "counters/base/error.h"
#include "counters/energy/energy_source.h"

namespace dlroof::energy {
namespace {

namespace fs = std::filesystem;

// --- hwmon: SYSFS/class/hwmon/hwmon*/energyN_input contains microjoules. The driver amd_energy
// labels the counters of packages "Esocket0" and those of cores "Ecore000". They have 64 bits and
// do not wrap around. https://www.kernel.org/doc/html/latest/hwmon/sysfs-interface.html ---

constexpr char kHwmonCure[] =
    "only root may read it; to let all users read it, add the udev rule SUBSYSTEM==\"hwmon\", "
    "ACTION==\"add\", RUN+=\"/bin/chmod -R a+r /sys%p\"";

// Returns the text of a sensor's file, or an empty text if it cannot be read.
std::string TextOfSensor(const fs::path& path) {
  int error = 0;
  return ReadKernelFile(path, error);
}

// Energy and power sensors of the CPU packages, from all monitors.
struct HwmonSensors {
  std::map<int, fs::path> counters;     // files of energy counters, by package
  std::vector<std::string> watts_only;  // titles of sensors with power only: "Grace Power Socket 0"
};

// Adds the sensor with the file `path` ("energy1_input", "power1_average") of the driver `driver`.
void AddSensor(const fs::path& path, const std::string& driver, HwmonSensors& sensors) {
  const auto name = path.filename().string();
  const auto sensor = (path.parent_path() / name.substr(0, name.find('_'))).string();
  const auto label = TextOfSensor(sensor + "_label");
  if (name.starts_with("energy") && name.ends_with("_input")) {
    if (const auto package = NumberBehind("Esocket", label)) sensors.counters[*package] = path;
  } else if (name.starts_with("power") && name.ends_with("_average")) {
    // The title of ACPI's power meters is in the OEM text. Sensors of GPUs are skipped.
    const auto oem_text = TextOfSensor(sensor + "_oem_info");
    const auto& title = oem_text.empty() ? label : oem_text;
    if (driver == "power_meter" || title.find("Socket") != std::string::npos)
      sensors.watts_only.push_back(title.empty() ? name : title);
  }
}

HwmonSensors ReadSensors(const fs::path& sysfs) {
  HwmonSensors sensors;
  std::error_code none;
  std::map<fs::path, std::string> drivers;  // driver by file of the sensor
  for (const auto& monitor : fs::directory_iterator(sysfs / "class/hwmon", none)) {
    const auto driver = TextOfSensor(monitor.path() / "name");
    for (const auto& file : fs::directory_iterator(monitor.path(), none))
      drivers[file.path()] = driver;
  }
  for (const auto& [path, driver] : drivers) AddSensor(path, driver, sensors);
  return sensors;
}

std::string NoCountersText(const HwmonSensors& sensors, const fs::path& sysfs) {
  if (sensors.watts_only.empty())
    return fmt::format("{} has no energy counter of a package (driver amd_energy)",
                       (sysfs / "class/hwmon").string());
  return fmt::format("this machine reports power ({}) but no energy",
                     fmt::join(sensors.watts_only, ", "));
}

EnergyCounters OpenHwmon(const EnergyPlace& place) {
  const auto sensors = ReadSensors(place.sysfs);
  if (sensors.counters.empty()) throw BadInput(NoCountersText(sensors, place.sysfs));
  const auto packages = CpusOfPackages(place.sysfs);
  EnergyCounters opened{.covers = "packages; no DRAM, fans, NIC, power supply"};
  for (const auto& [package, file] : sensors.counters)
    if (OwnsPackage(packages, package, place))
      opened.domains.push_back(
          MicrojouleDomain(fmt::format("package-{}", package), true, file, kHwmonCure));
  if (opened.domains.empty())
    throw BadInput("this process may use no CPU of the packages that have counters");
  return opened;
}

[[maybe_unused]] const bool hwmon_registered = RegisterEnergySource({"hwmon", 3, OpenHwmon});

// --- powercap: Intel's RAPL counters, and AMD's under the same names. The zone
// SYSFS/class/powercap/intel-rapl:A is a package ("package-0", "package-0-die-1") or the platform
// ("psys"); intel-rapl:A:B is a subzone of package A ("core", "uncore", "dram"). DRAM is the only
// subzone that the package's count does not include.
// https://www.kernel.org/doc/html/latest/power/powercap/powercap.html ---

constexpr std::string_view kZonePrefix =
    "intel-rapl:";  // not intel-rapl-mmio:, whose counters are the same

constexpr char kPowercapCure[] =
    "only root may read it (since Linux 5.10); to let all users read it, add the udev rule "
    "SUBSYSTEM==\"powercap\", ACTION==\"add\", RUN+=\"/bin/chmod -R a+r /sys%p\"";

struct Zone {
  fs::path path;
  std::string name;     // "package-0", "dram", "psys"
  std::string package;  // for a subzone, the name of the zone that contains it
};

// Returns all zones, sorted by path.
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

// Returns 0 for the zones "package-0" and "package-0-die-1", nullopt for names of another form.
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

// Collects the energy domains of the packages of which this process may use all CPUs.
class ZoneDomains {
 public:
  explicit ZoneDomains(const EnergyPlace& place)
      : place_(place), packages_(CpusOfPackages(place.sysfs)) {}

  // Throws BadInput if the zone cannot be read or this process may use only some of its CPUs.
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

  // Throws BadInput if no package is counted.
  EnergyCounters Result() {
    if (packages_counted_ == 0)
      throw BadInput("this process may use no CPU of the packages that have counters");
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
        "this is a virtual machine whose host does not pass the counters on",
        (place.sysfs / "class/powercap").string());
  ZoneDomains domains(place);
  for (const Zone& zone : zones) domains.Add(zone);
  return domains.Result();
}

[[maybe_unused]] const bool powercap_registered =
    RegisterEnergySource({"powercap", 1, OpenPowercap});

}  // namespace
}  // namespace dlroof::energy
