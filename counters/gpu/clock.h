// Timing calls on a GPU, its clock, throttling and caches. GpuClock is a table of functions that
// the CUDA module fills and tests fake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "counters/gpu/sm_stamps.h"

namespace dlroof::gpu {

// Returns the fault of the GPU's cooling or power supply that NVML's bits report: "a thermal
// slowdown".
std::optional<std::string> GpuSlowdown(std::uint64_t throttle);

// Returns whether the SMs ran below 75 % of their default clock (NVBench's rule) for a reason other
// than the GPU's own power limit. Returns false if a clock is unknown.
bool IsClockTooLow(std::optional<double> clock_hz, std::optional<double> default_clock_hz,
                   std::uint64_t throttle);

// Returns `earlier`, plus the power limit's bit if `later` has it. The driver may report the power
// limit only a moment after the calls have reached it.
std::uint64_t KeepPowerLimit(std::uint64_t earlier, std::uint64_t later);

// Starts one call on a stream and returns without waiting for it.
using Enqueue = std::function<void(void* stream)>;

// The driver's readings while calls were running, as far as it has them.
struct GpuHealth {
  std::optional<double> sm_clock_hz;          // [1/s]
  std::optional<double> memory_clock_hz;      // [1/s]
  std::optional<double> power_watts;          // [W]
  std::optional<double> temperature_celsius;  // [degree Celsius]
  std::optional<std::uint64_t> throttle;      // NVML's bits (ThrottleReasons)

  bool operator==(const GpuHealth&) const = default;
};

// The timing of calls that ran back to back.
struct GpuBatch {
  double seconds = 0;              // [s] on the GPU, of all calls together
  std::optional<double> clock_hz;  // [1/s] mean clock of the SMs, unless the batch was too short
  bool queued = true;  // whether all launches preceded the first call and so are not in `seconds`
};

// Services of one GPU. Each function waits until its work is done and throws std::exception with
// the driver's message if a kernel failed.
struct GpuClock {
  // [s] on the GPU from an event before the launch on the idle GPU to an event after the call: the
  // call and the cost of its launch.
  std::function<double(const Enqueue& call)> once;
  // Holds the stream until all calls are launched, so that launches are not timed, unless launching
  // takes long or waits for the GPU. Calls `while_running` after the launches.
  std::function<GpuBatch(const Enqueue& call, int calls,
                         const std::function<void()>& while_running)>
      batch;
  // Captures `calls` calls in a CUDA graph. The result launches the graph once and returns the time
  // on the GPU of all calls together [s], without the launch. Throws if capturing fails.
  std::function<std::function<double()>(const Enqueue& call, int calls)> graph;
  std::function<GpuHealth()> health;
  // [J] of the whole board since a fixed moment (NVML: since the driver was loaded; Volta and
  // newer), or nullopt if it cannot be read.
  std::function<std::optional<double>()> energy_joules;
  // Evicts everything from L2, dirty lines included.
  std::function<void()> flush;
  // Reads device memory once, so that as much of it as fits is in L2.
  std::function<void(const void* begin, std::size_t bytes)> touch;
  // After a failure: waits until the GPU is idle and clears the error. Throws with the driver's
  // message if the error is sticky (an illegal address): all later GPU work of this process fails.
  std::function<void()> recover;
  std::optional<double> default_clock_hz;  // [1/s] of the SMs, by the driver's table
};

}  // namespace dlroof::gpu
