// Times a prepared call in Google Benchmark's loop (each kind of device has its own clock and its
// own way to flush caches), and decides when a benchmark has enough repetitions.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "counters/cpu/clocks.h"
#include "reporters/record/record.h"

namespace dlroof::timing {

struct TimedLoop {
  record::Repetition repetition;    // times by the device's clock, and CPU times of the host
  std::optional<std::string> note;  // a sentence for the record
};

// Returns a repetition of `iterations` calls in which the host's threads spent `spent`.
record::Repetition RepetitionOf(const cpu::ClockReading& spent, double iterations);

// Returns a repetition that was timed in parts of `calls` calls each. Its times are means over the
// clean parts, or over all parts if none is clean.
record::Repetition RepetitionOfParts(const std::vector<cpu::ClockReading>& parts, double calls);

// Serves one call at a time, between SetUp and TearDown.
class Timer {
 public:
  virtual ~Timer() = default;

  // Returns the number of host threads for the benchmark. Throws Unsupported for a number that the
  // device cannot use.
  virtual int Threads(const workload::Workload& workload, int threads_of_run) const = 0;
  // Opens the device. Call it before a call is prepared. Throws if the device cannot be used.
  virtual void Open() = 0;
  // Reads from the call which memory to flush or touch for `cache`. Throws Unsupported if the call
  // does not name that memory.
  virtual void SetUp(const workload::PreparedCall& call, workload::CacheState cache,
                     int threads) = 0;
  // Forgets the call and everything taken from it.
  virtual void TearDown() = 0;
  // Returns the function that establishes the cache state before one call, or an empty function if
  // nothing has to be done.
  virtual std::function<void()> BeforeCall() const = 0;
  // Returns the number of calls that are timed together; Google Benchmark counts them as a batch.
  virtual std::int64_t CallsPerPart(const workload::PreparedCall& call) const = 0;
  // Returns the device's energy counter [J], or an empty function if it has none that can be read.
  virtual std::function<std::optional<double>()> EnergyCounter() const { return {}; }
  // Runs one repetition, in parts of `calls_per_part` calls.
  virtual TimedLoop Time(benchmark::State& state, const workload::PreparedCall& call,
                         std::int64_t calls_per_part) = 0;
  // Restores the device after benchmark `name` failed. If that fails, Open throws from then on.
  virtual void Recover(const std::string& name) = 0;
  // Returns whether hardware counters slow down later timings, so that counting has to wait until
  // all benchmarks were timed.
  virtual bool CountsLast() const = 0;
};

// Repetitions are added until enough of them are clean and the median is known well enough, or
// until the time is up.
struct StoppingRule {
  int repetitions = 9;      // [1] clean ones wanted; at least as many run even if the time is up
  double max_noise = 0.05;  // [1] half the width of the median's 95 % interval over the median
  double max_seconds = 2;   // [s] for one benchmark's repetitions and the pauses between them
};

struct NextRepetition {
  bool wanted = true;
  double pause_seconds = 0;  // [s] before it, in which bursts of interference may pass
};

// Tracks, over all benchmarks, the share of clean repetitions among those that replaced noisy ones
// (an exponential average over the latest 20 or so): whether replacing helps on this machine now.
class Replacements {
 public:
  void Add(bool clean);
  // Returns the share of the rule's `max_seconds` to spend: all of it, or a quarter if fewer than
  // one replacement in ten is clean. [1]
  double BudgetShare() const;

 private:
  double clean_share_ = 1;
};

// Decides on the next repetition. The noisy ones of `done` are marked; all took `spent_seconds`
// [s].
NextRepetition NextAfter(const std::vector<record::Repetition>& done, double spent_seconds,
                         const StoppingRule& rule, const Replacements& replacements = {});

}  // namespace dlroof::timing
