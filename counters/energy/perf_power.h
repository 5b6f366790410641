// The kernel's "power" PMU: the counters of powercap, for users who may open system-wide events.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dlroof::energy {

struct PowerEvent {
  std::string name;          // "energy-pkg"
  std::uint64_t config = 0;  // number of the event: 2 for "event=0x02"
  double joules = 0;         // [J] per count
};

struct PowerUnit {
  std::uint32_t type = 0;          // perf_event_attr::type
  std::vector<int> cpus;           // one CPU of each package
  std::vector<PowerEvent> events;  // energy-pkg, energy-ram, energy-psys, if they exist
};

// Reads SYSFS/bus/event_source/devices/power. Throws BadInput if the folder does not exist or if
// one of its files does not have the form that the kernel documents.
PowerUnit ReadPowerUnit(const std::filesystem::path& sysfs);

}  // namespace dlroof::energy
