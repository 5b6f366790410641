// The energy source powercap, a tree of sysfs.
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "counters/base/error.h"
#include "counters/energy/energy_source.h"

namespace dlroof::energy {
namespace {

namespace fs = std::filesystem;

// Intel's RAPL counters, and AMD's under the same names. The zone
// SYSFS/class/powercap/intel-rapl:A is a package ("package-0", "package-0-die-1") or the platform
// ("psys"); intel-rapl:A:B is a subzone of package A ("core", "uncore", "dram"). DRAM is the only
// subzone that the package's count does not include.
// https://www.kernel.org/doc/html/latest/power/powercap/powercap.html

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

// [J] Reads a file that contains a whole number of microjoules. Throws BadInput if it contains
// anything else or cannot be read.
double ReadMicrojoules(const fs::path& path) {
  constexpr double kJoulesPerMicrojoule = 1e-6;
  int error = 0;
  const auto text = ReadKernelFile(path, error);
  if (error == EACCES || error == EPERM) throw BadInput("{}: {}", path.string(), kPowercapCure);
  if (error != 0) throw BadInput("{}: {}", path.string(), std::strerror(error));
  std::uint64_t microjoules = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), microjoules);
  if (wrong != std::errc() || end != text.data() + text.size() || text.empty())
    throw BadInput("{}: '{}' is not a number of microjoules", path.string(), text);
  return kJoulesPerMicrojoule * static_cast<double>(microjoules);
}

EnergyDomain DomainOf(const Zone& zone, const std::string& name, bool counted) {
  const auto path = zone.path / "energy_uj";
  ReadMicrojoules(path);  // throws now instead of during a measurement
  return {name, counted, [path] { return ReadMicrojoules(path); },
          ReadMicrojoules(zone.path / "max_energy_range_uj")};
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
    auto& covers = counters_.covers;
    covers = fmt::format("packages and DRAM of {} of {} of them; no fans, NIC, power supply",
                         dram_counted_, packages_counted_);
    if (dram_counted_ == packages_counted_)
      covers = "packages and DRAM; no fans, NIC, power supply";
    if (dram_counted_ == 0) covers = "packages; no DRAM, fans, NIC, power supply";
    return std::move(counters_);
  }

 private:
  bool Ours(int package) const { return OwnsPackage(packages_, package, place_); }

  const EnergyPlace& place_;
  std::map<int, std::vector<int>> packages_;
  EnergyCounters counters_;
  int packages_counted_ = 0, dram_counted_ = 0;
};

}  // namespace

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
}  // namespace dlroof::energy
