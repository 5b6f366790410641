// The energy source "perf": perf events of the "power" PMU, one event on one CPU of each package.
// The kernel extends the counters to 64 bits, so they do not wrap around.
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "counters/base/error.h"
#include "counters/base/process.h"
#include "counters/cpu/cpu.h"
#include "counters/energy/energy_source.h"

namespace dlroof::energy {
namespace {

// Returns the text of a file. Throws BadInput if it cannot be read.
std::string ReadLine(const std::filesystem::path& path) {
  int error = 0;
  auto text = ReadKernelFile(path, error);
  if (error != 0 || text.empty()) throw BadInput("{}: cannot be read", path.string());
  return text;
}

// Returns the number that is the text of a file. Throws BadInput if the text is anything else.
template <class Number, class... Format>
Number NumberOf(const std::filesystem::path& path, std::string_view text, Format... format) {
  Number number{};
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, format...);
  if (error != std::errc() || end != text.data() + text.size())
    throw BadInput("{}: '{}' is not a number", path.string(), text);
  return number;
}

PowerEvent ReadEvent(const std::filesystem::path& folder, const std::string& name) {
  constexpr std::string_view kConfig = "event=0x";
  const auto path = folder / name;
  const auto text = ReadLine(path);
  if (!text.starts_with(kConfig))
    throw BadInput("{}: expected event=0x and a number, got '{}'", path.string(), text);
  const auto scale = folder / (name + ".scale"), unit = folder / (name + ".unit");
  if (const auto found = ReadLine(unit); found != "Joules")
    throw BadInput("{}: expected Joules, got '{}'", unit.string(), found);
  return {name, NumberOf<std::uint64_t>(path, std::string_view(text).substr(kConfig.size()), 16),
          NumberOf<double>(scale, ReadLine(scale))};
}

// Opens the event on a CPU. If that fails, throws BadInput and says how to correct it.
std::shared_ptr<const Descriptor> OpenOnCpu(std::uint32_t type, const PowerEvent& event, int cpu) {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = event.config;
  const auto file = static_cast<int>(syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, 0));
  if (file >= 0) return std::make_shared<const Descriptor>(file);
  if (errno == EACCES || errno == EPERM)
    throw BadInput(
        "power/{}/ on CPU {}: {}: this user may not open the event. As root, set sysctl "
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

// Returns the package of a CPU, or nullopt if it is unknown.
std::optional<int> PackageOfCpu(const std::map<int, std::vector<int>>& packages, int wanted) {
  for (const auto& [package, cpus] : packages)
    for (const int cpu : cpus)
      if (cpu == wanted) return package;
  return std::nullopt;
}

// Returns one of the unit's CPUs for each package of which this process may use all CPUs. Throws
// BadInput for a package of which it may use only some.
std::map<int, int> OurPackages(const PowerUnit& unit, const EnergyPlace& place) {
  const auto packages = CpusOfPackages(place.sysfs);
  std::map<int, int> cpu_of_package;
  for (const int cpu : unit.cpus) {
    const auto package = PackageOfCpu(packages, cpu);
    if (!package)
      throw BadInput("the package of CPU {} is unknown, so other programs may share its counter",
                     cpu);
    if (OwnsPackage(packages, *package, place)) cpu_of_package[*package] = cpu;
  }
  if (cpu_of_package.empty())
    throw BadInput("this process may use no CPU of the packages that have counters");
  return cpu_of_package;
}

}  // namespace

EnergyCounters OpenPerfPower(const EnergyPlace& place) {
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
      if (platform) break;  // the counter "psys" covers all packages
    }
  }
  if (!packages) throw BadInput("the power unit has no energy-pkg");
  counters.covers = dram ? "packages and DRAM; no fans, NIC, power supply"
                         : "packages; no DRAM, fans, NIC, power supply";
  return counters;
}

PowerUnit ReadPowerUnit(const std::filesystem::path& sysfs) {
  const auto folder = sysfs / "bus/event_source/devices/power";
  std::error_code none;
  if (!std::filesystem::exists(folder, none))
    throw BadInput(
        "{} does not exist: the kernel has no driver for this CPU's energy counters "
        "(intel-rapl-perf), or this is a virtual machine whose host does not pass them on",
        folder.string());
  PowerUnit unit;
  unit.type = NumberOf<std::uint32_t>(folder / "type", ReadLine(folder / "type"));
  unit.cpus = cpu::CpuList(ReadLine(folder / "cpumask"));
  for (const char* name : {"energy-pkg", "energy-ram", "energy-psys"})
    if (std::filesystem::exists(folder / "events" / name, none))
      unit.events.push_back(ReadEvent(folder / "events", name));
  return unit;
}

}  // namespace dlroof::energy
