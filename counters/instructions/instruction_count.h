// The instructions of one call on the calling thread, counted: what the core has to start whatever
// its units do, for the ledger's instruction roof.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "counters/parallel_time.h"

namespace dlroof::instructions {

// Counts the instructions of one execution of `run`, which must stay on the calling thread:
//   by hardware, where perf events give them (`arithmetic` and `generated` are absent then);
//   else by single steps of a child process (stepped.h), which may spend `step_seconds` of CPU time
//   (0: no steps are made).
CountedInstructions CountInstructions(const std::function<void()>& run, double step_seconds);

}  // namespace dlroof::instructions
