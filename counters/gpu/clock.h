// Timing of calls on a GPU, the GPU's clock, throttling and caches. The CUDA module fills the
// functions of GpuClock; tests use a fake.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "counters/gpu/sm_stamps.h"

namespace dlroof::gpu {

// Returns the fault of the GPU's cooling or power supply that NVML's bits `throttle` report ("a
// thermal slowdown"), or nullopt if there is none.
std::optional<std::string> GpuSlowdown(std::uint64_t throttle);

// Returns whether the SMs ran below 75 % of their default clock (NVBench's rule), and not only
// because of the GPU's own power limit. Returns false if one of the clocks is unknown.
bool IsClockTooLow(std::optional<double> clock_hz, std::optional<double> default_clock_hz,
                   std::uint64_t throttle);

// Returns the bits `earlier`, plus the power limit's bit if `later` has it. The driver may report
// the power limit only a moment after the calls have reached it.
std::uint64_t KeepPowerLimit(std::uint64_t earlier, std::uint64_t later);

// Enqueues one call on a stream without waiting for it.
using Enqueue = std::function<void(void* stream)>;

// The driver's readings while calls were running; those that it does not support are unset.
struct GpuHealth {
  std::optional<double> sm_clock_hz;          // [1/s]
  std::optional<double> memory_clock_hz;      // [1/s]
  std::optional<double> power_watts;          // [W]
  std::optional<double> temperature_celsius;  // [degree Celsius]
  std::optional<std::uint64_t> throttle;      // NVML's bits (see ThrottleReasons)

  bool operator==(const GpuHealth&) const = default;
};

// Timing of calls that ran back to back.
struct GpuBatch {
  double seconds = 0;              // [s] on the GPU, all calls together
  std::optional<double> clock_hz;  // [1/s] mean SM clock; unset if the batch was too short
  bool queued = true;              // false if `seconds` include time for launches
};

// Functions for one GPU. Each function waits until its work is done, and throws std::exception with
// the driver's message if a kernel failed.
struct GpuClock {
  // Launches a call on the idle GPU. Returns the time [s] from an event before the launch to an
  // event after the call: the time of the call and of its launch.
  std::function<double(const Enqueue& call)> once;
  // Blocks the stream until all calls are launched, so that their time excludes launches, unless
  // launching takes long or waits for the GPU. Calls `while_running` after the launches.
  std::function<GpuBatch(const Enqueue& call, int calls,
                         const std::function<void()>& while_running)>
      batch;
  // Captures `calls` calls in a CUDA graph, or throws. The returned function launches the graph
  // once and returns the time [s] of all calls together on the GPU, without the launch.
  std::function<std::function<double()>(const Enqueue& call, int calls)> graph;
  std::function<GpuHealth()> health;
  // Returns the energy [J] of the whole board since a fixed moment (NVML: since the driver was
  // loaded; Volta and newer), or nullopt if it cannot be read.
  std::function<std::optional<double>()> energy_joules;
  // Evicts everything from L2, including modified lines.
  std::function<void()> flush;
  // Reads device memory once, so that L2 contains as much of it as fits.
  std::function<void(const void* begin, std::size_t bytes)> touch;
  // Call this after a failure: waits until the GPU is idle and clears the error. Throws the
  // driver's message if the error is sticky (an illegal address): all later GPU work fails.
  std::function<void()> recover;
  std::optional<double> default_clock_hz;  // [1/s] of the SMs, reported by the driver
};

}  // namespace dlroof::gpu
