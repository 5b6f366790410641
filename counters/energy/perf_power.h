// The kernel's "power" PMU: the same counters as the powercap tree, for users who may open
// system-wide perf events.
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
  std::vector<int> cpus;           // one per package
  std::vector<PowerEvent> events;  // those of energy-pkg, energy-ram, energy-psys that exist
};

// Reads SYSFS/bus/event_source/devices/power. Throws BadInput if the folder does not exist or one
// of its files differs from the form that the kernel documents.
PowerUnit ReadPowerUnit(const std::filesystem::path& sysfs);

}  // namespace dlroof::energy
