// A call executed one instruction at a time in a child process, which looks at each instruction.
// Linux on x86; elsewhere steps are refused.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::instructions {

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
