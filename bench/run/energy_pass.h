// The pass that reads energy counters around calls, after all benchmarks were timed.
#pragma once

#include "bench/timing/timer.h"
#include "bench/workload/workload.h"
#include "counters/energy/energy_meter.h"

namespace dlroof {

// The CPU's counters, of the first source that can count here.
EnergyMeter OpenCpuEnergy();

// The meter of a GPU's own counter; without one its reason.
EnergyMeter GpuEnergy(const std::function<std::optional<double>()>& joules);

// [W] during a second in which this process sleeps.
std::optional<IdlePower> IdlePowerOf(const EnergyMeter& meter);

// Returns the energy of one call: three windows of at least 0.5 s on a CPU, 2 s on a GPU, in which
// calls follow each other. Absent with a reason where something has to be done before each call.
EnergyFound EnergyOfCall(const Workload& workload, const PreparedCall& call, const Timer& timer,
                         const EnergyMeter& cpu);

}  // namespace dlroof
