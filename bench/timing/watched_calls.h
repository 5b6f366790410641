// Profiles the parallel regions of a call, in passes that are separate from the timed repetitions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/parallel_time.h"
#include "reporters/record/record.h"

namespace dlroof::timing {

class WatchedCalls {
 public:
  // Runs and profiles one pass: `calls` calls on `threads` threads. If no source can profile them,
  // sets UnwatchedReason.
  void Add(const workload::PreparedCall& call, int threads, std::int64_t calls);
  // Measures `call`, the same workload prepared for one thread: its time, the times of its parts,
  // of its smallest problem, and of copies with cache-resident and with distinct tensors; and its
  // instructions, by hardware counters or by single steps of at most `step_seconds` each. [s]
  void AddSingleThreaded(const workload::PreparedCall& call, double step_seconds);
  bool HasInstructions() const { return instructions_.has_value(); }
  // Sets the instruction count of the single-threaded call.
  void SetInstructions(const InstructionCount& count);
  // Adds a reason why the instructions of the single-threaded call are not counted.
  void AddInstructionsReason(const std::string& reason);
  // Returns the profile per call: the mean over the clean passes or, if all passes are noisy, over
  // the quarter with the least run delay. Returns nothing if there is no pass.
  std::optional<ParallelTime> Mean() const;
  // Returns why the last pass could not be profiled, if it could not.
  const std::optional<Reason>& UnwatchedReason() const { return unwatched_reason_; }

 private:
  struct Pass {
    record::Repetition repetition;
    RegionSums sums;  // over all calls of the pass
    int threads = 1;
    std::string source;
  };
  std::vector<Pass> passes_;
  PartSeconds parts_;
  std::optional<double> executed_over_useful_, vector_loads_, vector_bytes_, single_thread_seconds_,
      smallest_seconds_, smallest_instructions_, near_seconds_, far_seconds_;
  std::optional<InstructionCount> instructions_;
  std::optional<Reason> instructions_reason_;
  std::string algorithm_, single_thread_algorithm_;
  std::optional<Reason> unwatched_reason_;
};

}  // namespace dlroof::timing
