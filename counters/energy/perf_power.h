// The kernel's "power" unit of perf events: the same counters as the powercap tree, for those who
// may open perf events of whole CPUs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dlroof::energy {

struct PowerEvent {
  std::string name;          // "energy-pkg"
  std::uint64_t config = 0;  // 2 of "event=0x02"
  double joules = 0;         // [J] of one count
};

struct PowerUnit {
  std::uint32_t type = 0;          // of perf events
  std::vector<int> cpus;           // one of each package
  std::vector<PowerEvent> events;  // those that are there: energy-pkg, energy-ram, energy-psys
};

// Reads SYSFS/bus/event_source/devices/power. Throws BadInput: there is none, or a file of it has
// not the form that the kernel documents.
PowerUnit ReadPowerUnit(const std::filesystem::path& sysfs);

}  // namespace dlroof::energy
