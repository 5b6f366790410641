// Profiles the parallel regions of a call, in passes that are separate from the timed repetitions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/parallel_time.h"
#include "counters/cpu/clocks.h"
#include "reporters/record/record.h"

namespace dlroof::runner {

class WatchedCalls {
 public:
  // Runs and profiles one pass: `calls` calls on `threads` threads. If no source can profile them,
  // sets UnwatchedReason.
  void Add(const workload::PreparedCall& call, int threads, std::int64_t calls);
  // The following functions measure `call`, the same workload prepared for one thread. They measure
  // at least once, and end soon after `budget` is spent.

  // Measures the time of the call, of its parts and of its smallest problem, and their instructions
  // if there is a hardware counter.
  void AddSingleThreaded(const workload::PreparedCall& call, const cpu::Budget& budget);
  // Measures the times of two copies of the call: tensors resident in L2, and distinct tensors.
  void AddNearAndFar(const workload::PreparedCall& call, const cpu::Budget& budget);

  // Returns whether the single-threaded call has the same algorithm as the profiled call. If not,
  // its times are not used. Requires AddSingleThreaded.
  bool IsComparable() const { return algorithm_ == single_thread_algorithm_; }

  // Sets why the instructions of the single-threaded call are not counted.
  void SetInstructionsReason(const Reason& reason) { single_.instructions_reason = reason; }
  // Returns the profile per call: the mean over the clean passes or, if all passes are noisy, over
  // the quarter with the least run delay. Returns nullopt if there is no pass.
  std::optional<ParallelTime> Mean() const;
  // Returns why the last pass could not be profiled, if it could not.
  const std::optional<Reason>& UnwatchedReason() const { return unwatched_reason_; }

 private:
  struct Pass {
    record::Repetition repetition;
    RegionSums sums;  // sums over all calls of the pass
    int threads = 1;
    std::string source;
  };
  void CountInstructions(const workload::PreparedCall& call);

  std::vector<Pass> passes_;
  ParallelTime single_;  // measurements of the single-threaded call
  std::optional<double> executed_over_useful_;
  std::string algorithm_, single_thread_algorithm_;
  std::optional<Reason> unwatched_reason_;
};

}  // namespace dlroof::runner
