// The pass that reads energy counters around calls, after all benchmarks were timed.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "bench/timing/timer.h"
#include "bench/workload/workload.h"
#include "counters/energy/energy_meter.h"

namespace dlroof::runner {

// The meter of a GPU's own counter; without one its reason.
energy::EnergyMeter GpuEnergy(const std::function<std::optional<double>()>& joules);

struct EnergyPass {
  std::optional<energy::EnergyMeter> cpu;       // which may be none; absent: no counter is read, a GPU's
                                        // neither
  std::optional<double> meter_seconds;  // [s] of a window for a node's meter; absent: none
  bool gpu_runs = false;                // a benchmark of a GPU is to be measured

  // Returns whether the pass has to prepare calls of `device` again.
  bool Measures(const std::string& device) const;
};

// [W] during a second in which this process sleeps: of the CPU, and where a GPU's benchmarks are
// measured of `gpu`, which is opened, during two.
energy::IdlePowers IdlePowersOf(const EnergyPass& pass, timing::Timer& gpu);

// Returns the energy of one call: three windows of at least 0.5 s on a CPU, 2 s on a GPU, in which
// calls follow each other; then the window for a meter. Absent with a reason where something has to
// be done before each call.
energy::EnergyFound EnergyOfCall(const workload::Workload& workload, const workload::PreparedCall& call, const timing::Timer& timer,
                         const EnergyPass& pass);

}  // namespace dlroof::runner
