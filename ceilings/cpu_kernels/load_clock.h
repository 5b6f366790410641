// The clock of a core while a kernel runs. Some cores lower their clock within microseconds of wide
// instructions and raise it as soon after them (an Emerald Rapids: 2.29 GHz under AMX tiles, 2.89
// GHz before and after), so a reading after the kernel is not the kernel's clock. Here the kernel's
// own loop also has a chain of dependent multiplications: if the chain takes longer than the rest
// of an iteration, the loop's time counts cycles under the kernel's load.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ceilings/cpu_kernels/flops.h"

namespace dlroof::cpu_kernels {

// One of FlopsProbe::clocks, timed.
struct ClockTrial {
  int multiplications = 0;
  double seconds = 0;  // [s] of the fastest iteration
};

// Returns the index of the shortest chain that counts cycles beside the kernel, or nothing.
// `kernel_seconds` [s] is the kernel's own iteration without a chain; the chain must be at least 4
// % longer. With `shares_ports` the kernel's instructions may take the chain's port (vectors of up
// to 32 bytes on Intel's cores) and delay it: then the time per multiplication must be within 1.5 %
// of the fastest longer chain's. Pure.
std::optional<std::size_t> ChooseClock(double kernel_seconds, const std::vector<ClockTrial>& trials,
                                       bool shares_ports);

// A clock kernel and the iterations of one reading.
struct LoadClock {
  ClockKernel clock;
  std::int64_t iterations = 1;  // per reading, some 80 us
};

// Chooses a clock for the kernel by running it and its clock kernels for about 10 ms in all. `run`
// executes a kernel on all threads of the team and returns the time [s]. Returns nullopt if the
// probe has no clock kernel that counts cycles.
std::optional<LoadClock> FindLoadClock(
    const FlopsProbe& probe,
    const std::function<double(Kernel kernel, std::int64_t iterations)>& run);

// Returns the clock [1/s] of the calling thread's core under the kernel's load: the median of five
// readings, 0.4 ms in all. Overwrites the accumulators of `workspace`.
double MeasureLoadClock(const LoadClock& clock, Workspace& workspace);

}  // namespace dlroof::cpu_kernels
