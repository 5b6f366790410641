// Times a prepared call in Google Benchmark's loop (each kind of device has its own clock and its
// own way to flush caches), and decides when a benchmark has enough repetitions.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/cpu.h"
#include "counters/cpu/team_look.h"
#include "reporters/record/record.h"

namespace dlroof::runner {

struct TimedLoop {
  record::Repetition repetition;             // times on the device's clock, CPU times of the host
  std::optional<std::string> note = {};      // for the record
  std::optional<double> evicted_bytes = {};  // [byte] dropped from the caches before each call
};

// Returns the repetition of `iterations` calls that took `spent` in total, by the host's clocks.
record::Repetition RepetitionOf(const cpu::ClockReading& spent, double iterations);

// Returns a repetition that was timed in parts of `calls` calls each. Its times are means over the
// calls of the clean parts, or of all parts if no part is clean. The CPU time of all threads is set
// only if no other thread used any, because the OS updates that of other threads every few ms.
record::Repetition RepetitionOfParts(const std::vector<cpu::ClockReading>& parts, double calls);

// Returns the repetition of calls that were timed one by one. With `in_parts` and enough calls,
// joins successive calls to parts of about 0.1 ms and proceeds as RepetitionOfParts.
record::Repetition RepetitionOfCalls(const std::vector<cpu::ClockReading>& calls, bool in_parts);

// Times one prepared call at a time, between SetUp and TearDown.
class Timer {
 public:
  virtual ~Timer() = default;

  // Returns the number of host threads: in the benchmark's name or, without one, `threads_of_run`.
  // Throws Unsupported if the device cannot use that number.
  virtual int Threads(const workload::Workload& workload, int threads_of_run) const = 0;
  // Opens the device. Call it before a call is prepared. Throws if the device cannot be used.
  virtual void Open() = 0;
  // Reads from the call which memory to flush or touch for the cache state `cache`. Throws
  // Unsupported if the call does not name that memory.
  virtual void SetUp(const workload::PreparedCall& call, workload::CacheState cache,
                     int threads) = 0;
  // Ends the use of SetUp's call and its memory.
  virtual void TearDown() = 0;
  // Returns a function that establishes the cache state before each call; empty if not necessary.
  virtual std::function<void()> BeforeCall() const = 0;
  // Returns the number of calls in one part of a repetition; a part is timed as a whole.
  virtual std::int64_t CallsPerPart(const workload::PreparedCall& call) const = 0;
  // Returns a function that reads the device's energy counter [J]; empty if there is no counter.
  virtual std::function<std::optional<double>()> EnergyCounter() const { return {}; }
  // Returns the device kernels that the call launches, found without counters; empty on a CPU.
  // Throws std::exception if they cannot be found.
  virtual std::vector<LaunchedKernel> Kernels(const workload::PreparedCall&) { return {}; }
  // Times one repetition, in parts of `calls_per_part` calls each.
  virtual TimedLoop Time(benchmark::State& state, const workload::PreparedCall& call,
                         std::int64_t calls_per_part) = 0;
  // Restores the device after benchmark `name` failed. If that fails, every later Open throws.
  virtual void Recover(const std::string& name) = 0;
  // Returns whether reading hardware counters slows down later timings. If it does, counters are
  // read after all benchmarks were timed.
  virtual bool CountsLast() const = 0;
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
  bool CountsLast() const override { return false; }

 private:
  cpu::TeamState Look() const;
  record::Repetition TimeWarm(benchmark::State& state, const workload::PreparedCall& call,
                              std::int64_t calls);

  std::function<cpu::TeamState(int threads)> best_state_;
  bool interleaved_, every_call_counts_;
  int threads_ = 1;
  bool in_parts_ = false;                    // time in parts, after a noisy repetition
  std::vector<cpu::MemorySpan> evicted_;     // flushed before each cold call
  std::map<int, cpu::SharesOfBest> shares_;  // states of the cores, by number of threads
};

}  // namespace dlroof::runner
