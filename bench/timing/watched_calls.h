// Profiles a call's parallel regions, in passes apart from the timed repetitions.
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
  // Profiles a pass of `calls` calls on `threads` threads. If no source can, sets UnwatchedReason.
  void Add(const workload::PreparedCall& call, int threads, std::int64_t calls);
  // Times the same workload prepared for one thread, its parts, its smallest problem, and the call
  // with its tensors cache-resident and not, and counts its instructions by hardware or by at most
  // `step_seconds` of single steps each.
  void AddSingleThreaded(const workload::PreparedCall& call, double step_seconds);
  bool HasInstructions() const { return instructions_.has_value(); }
  // Sets the instruction count of the single-threaded call.
  void SetInstructions(const InstructionCount& count);
  // Adds a reason why the instructions of the single-threaded call are not counted.
  void AddInstructionsReason(const std::string& reason);
  // Returns the profile of one call, the mean over the clean passes, or over the quarter with the
  // least run delay if all passes were noisy; nothing without a pass.
  std::optional<ParallelTime> Mean() const;
  // Returns why the last pass could not be profiled.
  const std::optional<Reason>& UnwatchedReason() const { return unwatched_reason_; }

 private:
  struct Pass {
    record::Repetition repetition;
    RegionSums sums;  // over all its calls
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
