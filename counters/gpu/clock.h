// Timing of calls on a GPU, its clock, throttling and caches. The CUDA module implements GpuClock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "counters/base/error.h"
#include "counters/base/work.h"
#include "counters/gpu/sm_stamps.h"

namespace dlroof::gpu {

// Returns the fault of the GPU's cooling or power supply that NVML's bits `throttle` report ("a
// thermal slowdown"), or nullopt if there is none.
std::optional<std::string> GpuSlowdown(std::uint64_t throttle);

// Returns whether the SMs ran below 75 % of their default clock (NVBench's rule), unless only the
// GPU's power limit is the reason. Returns false if one of the clocks is unknown.
bool IsClockTooLow(std::optional<double> clock_hz, std::optional<double> default_clock_hz,
                   std::uint64_t throttle);

// Returns NVML's bits `earlier`, plus the power limit's bit if `later` has it: the driver may
// report the power limit only a moment after the calls have reached it.
std::uint64_t KeepPowerLimit(std::uint64_t earlier, std::uint64_t later);

// Enqueues one call on a stream without waiting for it.
using Enqueue = std::function<void(void* stream)>;

// The driver's readings while calls were running. Readings that the driver lacks are unset.
struct GpuHealth {
  std::optional<double> sm_clock_hz;          // [1/s]
  std::optional<double> memory_clock_hz;      // [1/s]
  std::optional<double> power_watts;          // [W]
  std::optional<double> temperature_celsius;  // [degree Celsius]
  std::optional<std::uint64_t> throttle;      // NVML's bits (see ThrottleReasons)

  bool operator==(const GpuHealth&) const = default;
};

// What happens to L2 before a call.
struct L2State {
  bool flush = false;  // fill L2 with other data, all of it modified (see GpuClock::Prepare)
  // Memory [begin, bytes] that is read into L2 after the flush.
  std::vector<std::pair<const void*, std::size_t>> touched;
};

// Times of calls that were all queued before the GPU began the first one, so that the times contain
// neither launches nor waits of the host.
struct QueuedCalls {
  // [s] of each call, between an event before and an event after it. Includes the time of the
  // events themselves, see GpuClock::Empty.
  std::vector<double> seconds;
  std::optional<double> clock_hz;  // [1/s] mean SM clock; unset if all took too little time
  // False if the GPU began before the last call was queued: a call waits for the GPU, or the host
  // was interrupted. `seconds` then include waiting.
  bool queued = true;
};

// Timing of calls that ran back to back.
struct GpuBatch {
  double seconds = 0;              // [s] on the GPU, all calls together
  std::optional<double> clock_hz;  // [1/s] mean SM clock; unset if the batch was too short
  bool queued = true;              // false if `seconds` include time for launches
};

// Times calls on one GPU. Each function waits until its work is done, and throws std::exception
// with the driver's message if a kernel failed.
class GpuClock {
 public:
  virtual ~GpuClock() = default;
  // Launches a call on the idle GPU. Returns the time [s] from an event before the launch to an
  // event after the call: the time of the call and of its launch.
  virtual double Once(const Enqueue& call) = 0;
  // Times `calls` calls. Blocks the stream until all are launched, so that the time excludes
  // launches, unless launching takes long or waits for the GPU. Then calls `while_running`, which
  // may be empty.
  virtual GpuBatch Batch(const Enqueue& call, int calls,
                         const std::function<void()>& while_running) = 0;
  // Captures `calls` calls in a CUDA graph, or throws. The returned function launches and times the
  // graph once, behind a kernel that waits for the launch. The clock must outlive the function.
  virtual std::function<GpuBatch()> Graph(const Enqueue& call, int calls) = 0;
  // Times each of `calls` calls. Queues [prepare L2, event, call, event] for each of them behind a
  // kernel that waits for the host, then lets the GPU run. The whole queue must fit the GPU's
  // launch queue (about 1000 launches).
  virtual QueuedCalls Queued(const L2State& l2, const Enqueue& call, int calls) = 0;
  // Enqueues an empty kernel: its queued time is the shortest time that Queued can measure.
  virtual void Empty(void* stream) = 0;
  // Returns the kernels that one call launches, without times: the kernel nodes of the CUDA graph
  // in which the call is captured. Throws if it cannot be captured. Runs nothing on the GPU.
  virtual std::vector<LaunchedKernel> Kernels(const Enqueue& call) = 0;
  // Flushes L2 and reads the touched memory. The flush writes twice the size of L2. So the call
  // finds modified lines of other data, as in a program, and its time contains their write-back;
  // the write-back of its own modified lines is in the time of later calls.
  virtual void Prepare(const L2State& l2) = 0;
  virtual double L2Bytes() = 0;  // [byte] size of L2
  // Returns a copy of GPU memory. Throws if too little is free. The clock must outlive the copy.
  virtual std::shared_ptr<void> Copy(const void* begin, std::size_t bytes) = 0;
  // Call this after a failure: waits until the GPU is idle and clears the error. Throws the
  // driver's message if the error is sticky (an illegal address): all later GPU work fails.
  virtual void Recover() = 0;
  virtual GpuHealth Health() = 0;
  // Returns the energy [J] of the whole board since a fixed moment (NVML: since the driver was
  // loaded; Volta and newer), or nullopt if it cannot be read.
  virtual std::optional<double> EnergyJoules() = 0;
  // Returns the default clock [1/s] of the SMs as the driver reports it.
  virtual std::optional<double> DefaultClockHz() = 0;
};

}  // namespace dlroof::gpu
