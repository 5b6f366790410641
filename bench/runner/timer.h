// Times a prepared call in Google Benchmark's loop (each kind of device has its own clock and its
// own way to flush caches), and decides when a benchmark has enough repetitions.
#pragma once

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "counters/gpu/clock.h"
#include "reporters/record/record.h"

namespace dlroof::runner {

struct TimedLoop {
  record::Repetition repetition;             // times on the device's clock, CPU times of the host
  std::optional<std::string> note = {};      // for the record: how the call was timed
  std::optional<double> evicted_bytes = {};  // [byte] dropped from the caches before each call
};

// Returns the repetition of `iterations` calls that took `spent` in total, by the host's clocks.
record::Repetition RepetitionOf(const cpu::ClockReading& spent, double iterations);

// Returns a repetition in which all threads of a team together made `calls` calls. `first` has the
// clocks of the first thread, `others` the sum over the other threads.
record::Repetition RepetitionOfTeam(const cpu::ClockReading& first, const cpu::ClockReading& others,
                                    double calls);

// Returns a repetition that was timed in parts of `calls` calls each. Its times are means over the
// calls of the clean parts, or of all parts if no part is clean. Sets `cpu_seconds` only if no
// thread but the caller used CPU time: the OS updates other threads' CPU time only every few ms.
record::Repetition RepetitionOfParts(const std::vector<cpu::ClockReading>& parts, double calls);

// Returns the repetition of calls that were timed one by one: means over all calls. With `in_parts`
// and enough calls, joins calls to parts of about 0.1 ms and returns RepetitionOfParts of them.
record::Repetition RepetitionOfCalls(const std::vector<cpu::ClockReading>& calls, bool in_parts);

// Times one prepared call at a time, between SetUp and TearDown.
class Timer {
 public:
  virtual ~Timer() = default;

  // Returns the number of host threads: on a CPU the number in the benchmark's name, if any, else
  // `threads_of_run`; on a GPU 1. Throws Unsupported for a GPU benchmark with more.
  virtual int Threads(const workload::Workload& workload, int threads_of_run) const = 0;
  // Opens the device. Call it before a call is prepared. Throws if the device cannot be used.
  virtual void Open() = 0;
  // Reads from the call which memory to flush or touch for the cache state `cache`. Throws
  // Unsupported if the call does not name that memory.
  virtual void SetUp(const workload::PreparedCall& call, workload::CacheState cache,
                     int threads) = 0;
  virtual void TearDown() = 0;  // ends the use of SetUp's call and its memory
  // Returns a function that establishes the cache state before each call; empty if not necessary.
  virtual std::function<void()> BeforeCall() const = 0;
  // Returns the number of calls in one part of a repetition; a part is timed as a whole.
  virtual std::int64_t CallsPerPart(const workload::PreparedCall& call) const = 0;
  // Returns a function that reads the device's energy counter [J] (nullopt: cannot be read), or an
  // empty function if there is no counter.
  virtual std::function<std::optional<double>()> EnergyCounter() const { return {}; }
  // Returns the device kernels that the call launches, found without counters; empty on a CPU.
  // Throws std::exception if they cannot be found.
  virtual std::vector<LaunchedKernel> Kernels(const workload::PreparedCall&) { return {}; }
  // Times one repetition, in parts of `calls_per_part` calls each.
  virtual TimedLoop Time(benchmark::State& state, const workload::PreparedCall& call,
                         std::int64_t calls_per_part) = 0;
  // Restores the device after benchmark `name` failed. If that fails, every later Open throws.
  virtual void Recover(const std::string& name) = 0;
};

// A benchmark has enough repetitions when `repetitions` are clean and the noise of the median is at
// most `max_noise`, or after `max_seconds`.
struct StoppingRule {
  int repetitions = 9;      // [1] required clean repetitions; this many run even after max_seconds
  double max_noise = 0.05;  // [1] half the median's 95 % interval divided by the median
  double max_seconds = 2;   // [s] for one benchmark's repetitions and the pauses between them
};

struct NextRepetition {
  bool wanted = true;
  double pause_seconds = 0;  // [s] before the repetition, to let interference pass
};

// Decides whether another repetition follows `done`, in which noisy repetitions are marked. The
// repetitions and their pauses took `spent_seconds` [s].
NextRepetition NextAfter(const std::vector<record::Repetition>& done, double spent_seconds,
                         const StoppingRule& rule);

// Times calls on a CPU: warm calls together in a loop, cold calls one by one.
class CpuTimer : public Timer {
 public:
  // `best_state` returns the best known state of the cores on which `threads` threads run. It may
  // be empty, and is called when the first benchmark with this number of threads is timed. In
  // `interleaved` runs the state of the cores is not measured, because interference slows down both
  // programs equally. With `keep_noisy`, noisy calls are not excluded from the times.
  CpuTimer(std::function<cpu::TeamState(int threads)> best_state, bool interleaved, bool keep_noisy)
      : best_state_(std::move(best_state)),
        interleaved_(interleaved),
        every_call_counts_(interleaved || keep_noisy) {}

  int Threads(const workload::Workload& workload, int threads_of_run) const override;
  void Open() override {}
  void SetUp(const workload::PreparedCall& call, workload::CacheState cache, int threads) override;
  void TearDown() override { evicted_.clear(); }
  std::function<void()> BeforeCall() const override;
  std::int64_t CallsPerPart(const workload::PreparedCall& call) const override;
  TimedLoop Time(benchmark::State& state, const workload::PreparedCall& call,
                 std::int64_t calls_per_part) override;
  void Recover(const std::string&) override {}

 private:
  cpu::TeamState Look() const;

  std::function<cpu::TeamState(int threads)> best_state_;
  bool interleaved_, every_call_counts_;
  int threads_ = 1;
  bool in_parts_ = false;                    // time in parts, after a noisy repetition
  std::vector<cpu::MemorySpan> evicted_;     // flushed before each cold call
  std::map<int, cpu::SharesOfBest> shares_;  // states of the cores, by number of threads
};

// Times calls on a GPU. Three times of a call are measured separately and never mixed:
//   seconds          a call in a sequence of calls, without the time of host and events
//   queued_seconds   one queued call: the GPU runs [event, call, event] without the host
//   call_seconds     one call on an idle GPU, including its launch
// The calls of a cold sequence use copies of the tensors in turn (Rotation). Without copies, a cold
// call follows a flush of L2, not another call, and its `seconds` equal queued_seconds. If a call
// waits for the GPU, it cannot be queued: `seconds` include the launch; call_seconds are absent.

// Returns how many calls of `seconds` each fill `target_seconds`, from 1 to `most`.
int CallsToFill(double seconds, double target_seconds, int most);

// How memory and the L2 cache are prepared before each call.
struct GpuCacheState {
  gpu::L2State l2;
  std::function<void()> renew;  // restores overwritten inputs; before the flush; may be empty
};

// Prepares memory and L2, runs the call once, and returns its time including the launch. [s]
double TimeOnce(gpu::GpuClock& clock, const gpu::Enqueue& call, const GpuCacheState& cache);

// Returns how many calls to queue at once: enough for about a millisecond, but not more than fit
// the GPU's launch queue. `launches` is the number of kernels of a call, if known.
int CallsToQueue(double seconds, std::optional<double> launches);

// Measures the times of one call that the host queues many times ahead of the GPU.
class QueuedTimer {
 public:
  // Queues single calls to find out whether the call can be queued. Throws if the GPU fails.
  QueuedTimer(gpu::GpuClock& clock, gpu::Enqueue call, GpuCacheState cache,
              std::optional<double> launches);

  // Returns false if the GPU began before a single call was queued, in each of several trials.
  bool CanQueue() const { return seconds_.has_value(); }
  std::optional<double> Seconds() const { return seconds_; }  // [s] of the first queued call
  // Returns the times [s] of `calls` calls. If the GPU begins a queue too early (the host was
  // interrupted), measures its calls again; throws std::runtime_error if that happens repeatedly.
  // `clock_hz` is the median over the queues. Requires CanQueue().
  gpu::QueuedCalls Time(std::int64_t calls);

 private:
  gpu::GpuClock& clock_;
  gpu::Enqueue call_;
  GpuCacheState cache_;
  std::optional<double> launches_;
  std::optional<double> seconds_;  // [s] of the first queued call
};

// Calls on copies of tensors in turn. The copies exceed twice the size of L2: each call is cold.
struct Rotation {
  gpu::Enqueue enqueue;
  int copies = 1;  // [1] a sequence must have a multiple of this number of calls
};

// Measures the time of a call as (time of 2N calls - time of N calls) / N. Each series of calls (a
// train) is a CUDA graph or, if the call cannot be captured, a queue. `renew` restores overwritten
// inputs before each train; later calls of a train do the same work on what the first call left.
class RepeatedTimer {
 public:
  // `seconds` [s] is the approximate time of a call. Throws if the GPU fails.
  RepeatedTimer(gpu::GpuClock& clock, Rotation rotation, std::function<void()> renew,
                double seconds, std::optional<double> launches);

  // Returns false if the call can neither be captured nor be queued twice.
  bool CanRepeat() const { return static_cast<bool>(trains_[0]); }
  // Returns times of one call [s], one for each pair of trains. Times at least `calls` / 3N
  // pairs. `clock_hz` is the median over the longer trains. Throws std::runtime_error if the
  // GPU begins a train before it is launched, again and again. Requires CanRepeat().
  gpu::QueuedCalls Time(std::int64_t calls);
  int calls() const { return calls_; }  // N
  // Returns why the trains are not CUDA graphs, or nullopt if they are.
  const std::optional<Reason>& reason() const { return reason_; }

 private:
  gpu::GpuBatch Run(std::size_t train) const;

  Rotation rotation_;  // owns the copies that the trains use
  std::function<void()> renew_;
  int calls_ = 1;
  std::array<std::function<gpu::GpuBatch()>, 2> trains_;
  std::optional<Reason> reason_;
};

// Measures a call that takes `seconds` [s]: medians of call_seconds and, with `queued`,
// queued_seconds, and the GPU's clocks and health under the load of batches of calls. Restores
// overwritten inputs before each batch. Throws if the GPU fails.
record::GpuSample SampleGpu(gpu::GpuClock& clock, const gpu::Enqueue& call, double seconds,
                            const GpuCacheState& cache, QueuedTimer* queued = nullptr);

struct GpuTiming {
  std::optional<double> min_seconds;  // [s] Google Benchmark's minimum time of a repetition
  // Load the GPU before the first repetition until its clock has settled, at least for 3 s.
  bool steady = false;
  std::function<double()> now = cpu::WallSeconds;  // [s] clock for the duration of the load
};

// Runs batches of the call until the SMs' clock settles: the clocks of the last second differ by at
// most 1 %. Returns how long that took [s], between kMinLoadSeconds and kMaxLoadSeconds.
double LoadUntilSteady(gpu::GpuClock& clock, const gpu::Enqueue& call, double seconds,
                       const GpuCacheState& cache, const std::function<double()>& now);
constexpr double kMinLoadSeconds = 3, kMaxLoadSeconds = 20;

// Opens a GPU and returns its clock. The function is empty if there is no GPU.
using GpuOpener = std::function<std::shared_ptr<gpu::GpuClock>()>;

class GpuTimer : public Timer {
 public:
  // `open` is called before the first GPU benchmark; it may be empty.
  GpuTimer(GpuOpener open, GpuTiming options)
      : open_(std::move(open)), options_(std::move(options)) {}

  int Threads(const workload::Workload& workload, int threads_of_run) const override;
  void Open() override;
  void SetUp(const workload::PreparedCall& call, workload::CacheState cache, int threads) override;
  void TearDown() override;
  std::function<void()> BeforeCall() const override;
  std::function<std::optional<double>()> EnergyCounter() const override;
  std::int64_t CallsPerPart(const workload::PreparedCall&) const override { return 1; }
  std::vector<LaunchedKernel> Kernels(const workload::PreparedCall& call) override;
  TimedLoop Time(benchmark::State& state, const workload::PreparedCall& call,
                 std::int64_t) override;
  void Recover(const std::string& name) override;

 private:
  void Repeat(const workload::PreparedCall& call, double seconds);
  bool IsAttempt(std::int64_t iterations, double gpu_seconds, double host_seconds);
  void Begin(const workload::PreparedCall& call);
  gpu::QueuedCalls TimeCalls(const gpu::Enqueue& enqueue, std::int64_t calls);
  std::optional<Reason> NotInGraph() const;
  record::GpuSample Sample(const gpu::Enqueue& enqueue, double seconds);

  GpuOpener open_;
  GpuTiming options_;
  std::shared_ptr<gpu::GpuClock> clock_;  // set by Open
  std::optional<double> empty_seconds_;   // [s] queued time of an empty kernel
  workload::CacheState state_ = workload::CacheState::kWarm;
  GpuCacheState cache_;                    // how to prepare each call, for state_
  std::optional<double> launches_;         // [1] kernels of the call, set by Kernels
  std::optional<QueuedTimer> queued_;      // set by the call's first repetition
  std::optional<RepeatedTimer> repeated_;  // set if the call can be repeated
  std::optional<Reason> not_repeated_;     // why `repeated_` is not set for a cold call
  std::optional<double> steady_seconds_;   // [s] time under load before the first repetition
  std::int64_t iterations_ = 0;            // number of iterations of the last repetition
  std::optional<Reason> lost_;             // why the GPU cannot be used any more
};

}  // namespace dlroof::runner
