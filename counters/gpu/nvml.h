// A GPU's health by NVIDIA's management library, which is the driver's: opened at run time, its
// absence only leaves the answers absent. Reads; changes no setting.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "counters/gpu/clock.h"

namespace dlroof::gpu {

class Nvml {
 public:
  // Never throws: without the library, or where it does not know the device, every answer is
  // absent.
  static Nvml Open(const std::string& library, const std::string& pci_bus_id);

  GpuHealth Health() const;
  // [J] of the board since the driver was loaded (Volta and newer); absent: not readable.
  std::optional<double> EnergyJoules() const;
  // The driver's version ("580.65.06"); empty: not known.
  std::string DriverVersion() const;

 private:
  struct Session;
  std::shared_ptr<const Session> session_;  // null: closed
};

// The names of NVML's bits for why clocks are lower than asked for, lowest bit first:
// "sw_power_cap", "hw_thermal_slowdown", ... A bit without a name is "bit 17".
std::vector<std::string> ThrottleReasons(std::uint64_t bits);

}  // namespace dlroof::gpu
