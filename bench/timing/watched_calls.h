// Passes over a call of which the parallel regions are watched, apart from those that are timed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload/workload.h"
#include "counters/parallel_time.h"
#include "reporters/record/record.h"

namespace dlroof::timing {

class WatchedCalls {
 public:
  // Watches `calls` calls on `threads` threads. Does nothing where no source can (WhyNot).
  void Add(const workload::PreparedCall& call, int threads, std::int64_t calls);
  // Times the same workload made for one thread, its parts, its smallest, and it with its tensors
  // near and far, and counts its instructions, by single steps of at most so long each.
  void AddSingleThreaded(const workload::PreparedCall& call, double step_seconds);
  bool HasInstructions() const { return instructions_.has_value(); }
  // Takes the count of the call that runs alone, made elsewhere.
  void SetInstructions(const InstructionCount& count);
  // Adds a reason why that call's instructions are not counted.
  void AddInstructionsReason(const std::string& reason);
  // One call, mean over the clean passes, or over the least noisy quarter where each was
  // noisy; absent without a pass.
  std::optional<ParallelTime> Mean() const;
  // Why the last pass was not watched, in words; empty: it was.
  const std::string& WhyNot() const { return why_not_; }

 private:
  struct Pass {
    record::Repetition repetition;
    RegionSums sums;  // of all its calls
    int threads = 1;
    std::string source;
  };
  std::vector<Pass> passes_;
  PartSeconds parts_;
  std::optional<double> executed_over_useful_, vector_loads_, vector_bytes_, single_thread_seconds_,
      smallest_seconds_, smallest_instructions_, near_seconds_, far_seconds_;
  std::optional<InstructionCount> instructions_;
  std::optional<Reason> instructions_reason_;
  std::string algorithm_, single_thread_algorithm_, why_not_;
};

}  // namespace dlroof::timing
