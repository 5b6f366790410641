// Energy from perf events of the "power" unit, counted by the kernel in 64 bits: they never begin
// anew. One event on one CPU of each package.
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "counters/base/error.h"
#include "counters/base/process.h"
#include "counters/energy/energy_source.h"
#include "counters/energy/package_cpus.h"
#include "counters/energy/perf_power.h"

namespace dlroof {
namespace {

// Throws BadInput with the cure.
std::shared_ptr<const Descriptor> OpenOnCpu(std::uint32_t type, const PowerEvent& event, int cpu) {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = event.config;
  const auto file = static_cast<int>(syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, 0));
  if (file >= 0) return std::make_shared<const Descriptor>(file);
  if (errno == EACCES || errno == EPERM)
    throw BadInput(
        "power/{}/ on CPU {}: {}: the system keeps it from this user. As root, sysctl "
        "kernel.perf_event_paranoid=0, or give the program CAP_PERFMON",
        event.name, cpu, std::strerror(errno));
  throw BadInput("power/{}/ on CPU {}: {}", event.name, cpu, std::strerror(errno));
}

std::function<double()> Reader(const std::shared_ptr<const Descriptor>& file,
                               const PowerEvent& event) {
  return [file, name = event.name, scale = event.joules] {
    std::uint64_t count = 0;
    if (read(file->get(), &count, sizeof count) != static_cast<ssize_t>(sizeof count))
      throw BadInput("power/{}/: {}", name, std::strerror(errno));
    return scale * static_cast<double>(count);
  };
}

// The package that has this CPU; absent: not known.
std::optional<int> PackageOfCpu(const std::map<int, std::vector<int>>& packages, int wanted) {
  for (const auto& [package, cpus] : packages)
    for (const int cpu : cpus)
      if (cpu == wanted) return package;
  return std::nullopt;
}

// The packages of the unit's CPUs that this process has to itself. Throws BadInput for one that is
// shared.
std::map<int, int> OurPackages(const PowerUnit& unit, const EnergyPlace& place) {
  const auto packages = CpusOfPackages(place.sysfs);
  std::map<int, int> cpu_of_package;
  for (const int cpu : unit.cpus) {
    const auto package = PackageOfCpu(packages, cpu);
    if (!package)
      throw BadInput("the package of CPU {} is not known: who uses it is not, either", cpu);
    if (OwnsPackage(packages, *package, place)) cpu_of_package[*package] = cpu;
  }
  if (cpu_of_package.empty()) throw BadInput("there is no package that this process may use");
  return cpu_of_package;
}

EnergyCounters OpenedUnit(const EnergyPlace& place) {
  const auto unit = ReadPowerUnit(place.sysfs);
  const auto cpu_of_package = OurPackages(unit, place);
  EnergyCounters counters;
  bool packages = false, dram = false;
  for (const auto& event : unit.events) {
    const bool platform = event.name == "energy-psys";
    packages = packages || event.name == "energy-pkg";
    dram = dram || event.name == "energy-ram";
    for (const auto& [package, cpu] : cpu_of_package) {
      const auto name = platform                     ? "psys"
                        : event.name == "energy-ram" ? fmt::format("dram-{}", package)
                                                     : fmt::format("package-{}", package);
      counters.domains.push_back(
          {name, !platform, Reader(OpenOnCpu(unit.type, event, cpu), event), std::nullopt});
      if (platform) break;  // one counter for all packages
    }
  }
  if (!packages) throw BadInput("the power unit has no energy-pkg");
  counters.covers = dram ? "packages and DRAM; no fans, NIC, power supply"
                         : "packages; no DRAM, fans, NIC, power supply";
  return counters;
}

EnergyCounters OpenPerfPower(const EnergyPlace& place) {
  try {
    return OpenedUnit(place);
  } catch (const BadInput& reason) {
    return {.why_not = reason.what()};
  }
}

[[maybe_unused]] const bool perf_power_registered =
    RegisterEnergySource({"perf", 2, OpenPerfPower});

}  // namespace
}  // namespace dlroof
