// Counts the instructions of one call on the calling thread and measures the core's peak
// instruction rate. Both make the instruction roof of a time breakdown. Without hardware counters
// the call runs in single steps in a child process (Linux on x86 only).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/parallel_time.h"

namespace dlroof::instructions {

// Counts the instructions of one execution of `run`, which must stay on the calling thread: with
// the hardware counter if perf events have it (then without `arithmetic` and `generated`),
// otherwise with StepThrough in at most `step_seconds` of CPU time. A `step_seconds` of 0 forbids
// single steps.
CountedInstructions CountInstructions(const std::function<void()>& run, double step_seconds);

// [1/s] The faster of two loops: independent additions, and two additions per load from L1. The
// best of many tries within 0.03 s, at the core's clock of this moment. Cores that fuse instruction
// pairs (compare and branch) can start more of those. Returns nullopt on CPUs other than x86.
std::optional<double> MeasureInstructionRate();

struct StepCounts {
  std::uint64_t all = 0;         // [1] instructions; a repeated string instruction counts once
  std::uint64_t arithmetic = 0;  // [1] those that are IsArithmetic (x86/x86_instructions.h)
  std::uint64_t generated = 0;   // [1] those in executable memory that no file backs (JIT code)
};

struct StepResult {
  std::optional<StepCounts> counts;
  std::optional<Reason> reason;  // set only without `counts`
};

// Forks a child with a copy of the calling thread. The child sets the trap flag (Intel SDM volume
// 3, "Single-Step Exception Condition"; AMD APM volume 2, "Single Stepping"), executes `run` once
// and exits, so side effects of `run` in memory are lost. A step takes 3 to 7 us; after
// `most_cpu_seconds` of CPU time the child gives up. `run` must not wait for another thread and
// must not block SIGTRAP.
StepResult StepThrough(const std::function<void()>& run, double most_cpu_seconds);

struct AddressRange {
  std::uint64_t begin = 0, end = 0;  // [byte] the end is outside

  bool operator==(const AddressRange&) const = default;
};

// Returns the executable mappings without a name or of a memory file from the text of
// /proc/PID/maps (proc(5)). Skips lines of another form.
std::vector<AddressRange> GeneratedCode(std::string_view maps);

}  // namespace dlroof::instructions
