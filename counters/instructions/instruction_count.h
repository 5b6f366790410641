// Counts the instructions of one call on the calling thread and measures the core's peak
// instruction rate, for the instruction roof of a time breakdown. Without hardware counters a child
// process executes the call in single steps (Linux on x86 only).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/parallel_time.h"

namespace dlroof::instructions {

// Counts the instructions of one execution of `run`, which must stay on the calling thread. Uses
// the hardware counter if perf events have it; the result then lacks `arithmetic` and `generated`.
// Otherwise uses StepThrough for at most `step_seconds` of CPU time and `wall_seconds`, or nothing
// if `step_seconds` is 0.
CountedInstructions CountInstructions(
    const std::function<void()>& run, double step_seconds,
    double wall_seconds = std::numeric_limits<double>::infinity());

// [1/s] Returns the instruction rate of the faster of two loops: independent additions, and two
// additions per load from L1. It is the best of many tries within 0.03 s, at the core's current
// clock. Cores that fuse pairs of instructions (compare and branch) can start more pairs than the
// loops show. Returns nullopt on CPUs other than x86.
std::optional<double> MeasureInstructionRate();

struct StepCounts {
  std::uint64_t all = 0;         // [1] instructions; a repeated string instruction counts once
  std::uint64_t arithmetic = 0;  // [1] see IsArithmetic (x86/x86_instructions.h)
  std::uint64_t generated = 0;   // [1] in executable memory that no file backs (JIT code)
};

struct StepResult {
  std::optional<StepCounts> counts;
  std::optional<Reason> reason;  // set only without `counts`
};

// Counts the instructions of `run` in single steps. Forks a child with a copy of the calling
// thread. The child sets the trap flag (Intel SDM volume 3, "Single-Step Exception Condition"; AMD
// APM volume 2, "Single Stepping"), executes `run` once and exits, so that changes of memory by
// `run` are lost. A step takes 3 to 7 us; the child gives up after `most_cpu_seconds` of CPU time,
// and ends after `most_wall_seconds`. `run` must not wait for another thread and must not block
// SIGTRAP.
StepResult StepThrough(const std::function<void()>& run, double most_cpu_seconds,
                       double most_wall_seconds = std::numeric_limits<double>::infinity());

struct AddressRange {
  std::uint64_t begin = 0, end = 0;  // [byte] addresses; the end is exclusive

  bool operator==(const AddressRange&) const = default;
};

// Returns the executable mappings that have no name or belong to a memory file. `maps` is the text
// of /proc/PID/maps (proc(5)). Skips lines of another form.
std::vector<AddressRange> GeneratedCode(std::string_view maps);

}  // namespace dlroof::instructions
