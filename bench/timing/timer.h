// Times a prepared call in Google Benchmark's loop. Each kind of device has its own clock and its
// own way to empty caches.
//
// When does a benchmark have enough repetitions? Pure: no clock and no device.
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
  record::Repetition repetition;  // the device's clock, and the time that the host's threads spent
  std::string note;               // a sentence for the record; empty: none
};

// Returns a repetition of `iterations` calls: `spent` [s] by the host's threads in all of them.
record::Repetition RepetitionOf(const cpu::ClockReading& spent, double iterations);

// The same of a repetition that was read part by part, each of `calls` calls: of its clean
// parts, or of all where none is.
record::Repetition RepetitionOfParts(const std::vector<cpu::ClockReading>& parts, double calls);

// Holds one call at a time, between SetUp and TearDown.
class Timer {
 public:
  virtual ~Timer() = default;

  // Returns the number of host threads for the benchmark. Throws Unsupported for a number that the
  // device cannot use.
  virtual int Threads(const workload::Workload& workload, int threads_of_run) const = 0;
  // Opens the device; precedes the preparation of a call. Throws if the device cannot be used.
  virtual void Open() = 0;
  // Notes the memory that `cache` is about. Throws Unsupported where the call does not name it.
  virtual void SetUp(const workload::PreparedCall& call, workload::CacheState cache,
                     int threads) = 0;
  // Forgets the call and everything taken from it.
  virtual void TearDown() = 0;
  // Returns the function that establishes the cache state before one call; empty: nothing to do.
  virtual std::function<void()> BeforeCall() const = 0;
  // Returns the number of calls that are timed together, which Google Benchmark counts at once.
  virtual std::int64_t CallsOfPart(const workload::PreparedCall& call) const = 0;
  // Returns the device's own counter of energy [J]; empty: it has none, or it cannot be read.
  virtual std::function<std::optional<double>()> EnergyCounter() const { return {}; }
  // Runs one repetition, by so many calls.
  virtual TimedLoop Time(benchmark::State& state, const workload::PreparedCall& call,
                         std::int64_t calls_of_part) = 0;
  // Brings the device back after benchmark `name` failed; a device that stays lost refuses Open.
  virtual void Recover(const std::string& name) = 0;
  // True if hardware counters disturb later timings, so that counting has to wait for the last.
  virtual bool CountsLast() const = 0;
};

// A noisy repetition is replaced. More follow until the median is known well enough, or until
// the time is up.
struct StoppingRule {
  int repetitions = 9;      // [1] clean ones wanted; so many run even if the time is up
  double max_noise = 0.05;  // [1] half the width of the median's interval, of the median
  double max_seconds = 2;   // [s] of one benchmark's repetitions and of the pauses between them
};

struct NextRepetition {
  bool wanted = true;
  double pause_seconds = 0;  // [s] before it: other programs get their turn, and bursts pass
};

// The share of clean ones among the repetitions that replaced others, of all benchmarks, the latest
// twenty or so counting most: it tells if replacing helps on this machine now.
class Replacements {
 public:
  void Add(bool clean);
  // [1] Of the rule's `max_seconds`: a quarter where fewer than one in ten came out clean.
  double BudgetShare() const;

 private:
  double clean_share_ = 1;
};

// `done` have their noisy ones marked and took `spent_seconds` [s].
NextRepetition NextAfter(const std::vector<record::Repetition>& done, double spent_seconds,
                         const StoppingRule& rule, const Replacements& replacements = {});

}  // namespace dlroof::timing
