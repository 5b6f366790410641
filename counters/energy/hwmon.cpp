// Energy from the kernel's hardware monitors: cumulative counters of microjoules,
// SYSFS/class/hwmon/ hwmon*/energyN_input, of which driver amd_energy labels those of packages
// "Esocket0" and those of cores "Ecore000". Its counters are 64 bits wide: they never begin anew.
// https://www.kernel.org/doc/html/latest/hwmon/sysfs-interface.html
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <string>

#include "counters/base/error.h"
#include "counters/energy/energy_source.h"
#include "counters/energy/kernel_tree.h"

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
}  // namespace dlroof::energy
