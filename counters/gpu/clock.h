// Throttling of a GPU, by its clock and by NVML's bits. Pure.
//
// GPU services beside the timed calls: clock, caches, health. A table
// of functions, so that the CUDA module makes it and tests fake it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "counters/gpu/sm_stamps.h"

namespace dlroof::gpu {

// Returns the fault of the GPU's cooling or supply, as "a slowdown by heat". Empty: none.
std::string GpuSlowdown(std::uint64_t throttle);

// The SMs ran below 75 % of their default clock (NVBench's rule), and not because of the GPU's own
// power limit: that is what it can do. Not known is not guilty.
bool IsClockTooLow(std::optional<double> clock_hz, std::optional<double> default_clock_hz,
                   std::uint64_t throttle);

// `earlier` and the bit of the power limit where `later` has it. The driver is asked at one moment
// of calls that all ran at that limit, and the answer may come a moment too early.
std::uint64_t KeepPowerLimit(std::uint64_t earlier, std::uint64_t later);

// Starts one call on a stream and returns without waiting for it.
using Enqueue = std::function<void(void* stream)>;

// The driver's readings while calls were running. Absent: not readable.
struct GpuHealth {
  std::optional<double> sm_clock_hz;          // [1/s]
  std::optional<double> memory_clock_hz;      // [1/s]
  std::optional<double> power_watts;          // [W]
  std::optional<double> temperature_celsius;  // [degree Celsius]
  std::optional<std::uint64_t> throttle;      // NVML's bits (ThrottleReasons); 0: none

  bool operator==(const GpuHealth&) const = default;
};

// Calls that follow each other with nothing waiting in between.
struct GpuBatch {
  double seconds = 0;              // [s] on the GPU, of all calls together
  std::optional<double> clock_hz;  // [1/s] mean clock of the SMs meanwhile, counted by themselves;
                                   // absent where the batch was too short to tell
  bool queued = true;  // all were launched before the first began; else launches are in `seconds`
};

// All of one GPU. Each function waits until its work is done and throws std::exception with the
// driver's words when a kernel failed.
struct GpuClock {
  // [s] on the GPU between a mark set on the idle GPU right before the call is started and one
  // right after: the call and the cost of its launch.
  std::function<double(const Enqueue& call)> once;
  // The first call begins when the last is started, or the launches of short calls would be timed;
  // not so where starting them takes long or waits for the GPU. `while_running` is called when all
  // calls are started and not yet done.
  std::function<GpuBatch(const Enqueue& call, int calls,
                         const std::function<void()>& while_running)>
      batch;
  // `calls` calls as one CUDA graph; what comes back launches it once: [s] on the GPU, of all calls
  // together, without the graph's own launch. Throws where the call cannot be captured.
  std::function<std::function<double()>(const Enqueue& call, int calls)> graph;
  std::function<GpuHealth()> health;
  // [J] of the whole board since any moment (NVML: since the driver was loaded; Volta and newer).
  // Absent: not readable.
  std::function<std::optional<double>()> energy_joules;
  // Afterwards L2 holds nothing that was there before and nothing that has to be written back.
  std::function<void()> flush;
  // Reads device memory once, so that it lies in L2 as far as it fits.
  std::function<void(const void* begin, std::size_t bytes)> touch;
  // After something failed: waits until the GPU is idle and forgets the failure. Throws, with the
  // driver's words, one that stays (an illegal address, for one): whatever this process asks of the
  // GPU from then on fails too.
  std::function<void()> recover;
  std::optional<double> default_clock_hz;  // [1/s] of the SMs, by the driver's table
};

}  // namespace dlroof::gpu
