// The instructions of one call on the calling thread, counted: what the core has to start whatever
// its units do, for the breakdown's instruction roof.
//
// The rate at which the calling thread's core starts instructions at most.
//
// A call executed one instruction at a time in a child process, which looks at each instruction.
// Linux on x86; elsewhere steps are refused.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/parallel_time.h"

namespace dlroof::instructions {

// Counts the instructions of one execution of `run`, which must stay on the calling thread:
//   by hardware, where perf events give them (`arithmetic` and `generated` are absent then);
//   else by single steps of a child process (stepped.h), which may spend `step_seconds` of CPU time
//   (0: no steps are made).
CountedInstructions CountInstructions(const std::function<void()>& run, double step_seconds);

// [1/s] independent additions, and two of these beside each load from the first-level cache: the
// faster of the two mixes, the fastest of many tries, in 0.03 s. The core's clock of
// this moment is in it. Cores that fuse pairs of instructions (compare and branch) start more of
// such. Absent on CPUs for which this program has no such loops.
std::optional<double> MeasureInstructionRate();

struct StepCounts {
  std::uint64_t all = 0;         // [1] instructions; a repeated string instruction is one
  std::uint64_t arithmetic = 0;  // [1] of them IsArithmetic (x86/instruction_kind.h)
  std::uint64_t generated = 0;   // [1] of them in memory that no file backs: made at run time
};

struct Stepped {
  std::optional<StepCounts> counts;
  std::string why;  // there are none, in one sentence; empty: there are
};

// Forks; the child, which has the calling thread alone, sets the trap flag (Intel SDM volume 3,
// "Single-Step Exception Condition"; AMD APM volume 2, "Single Stepping"), executes `run` once and
// ends. The child takes what `run` does with it. A step takes 3 to 7 us: steps end, without counts,
// when the child has spent `most_cpu_seconds`. `run` must wait for no other thread, and must not
// block SIGTRAP.
Stepped StepThrough(const std::function<void()>& run, double most_cpu_seconds);

struct AddressRange {
  std::uint64_t begin = 0, end = 0;  // [byte] the end is outside

  bool operator==(const AddressRange&) const = default;
};

// Reads the text of /proc/PID/maps (proc(5)): executable mappings without a name, or of a memory
// file. Lines that it cannot read are left out.
std::vector<AddressRange> GeneratedCode(std::string_view maps);

}  // namespace dlroof::instructions
