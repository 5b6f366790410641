// Are stored ceilings still this machine's? A second's look at two of them at the start of a run.
#pragma once

#include <string>
#include <vector>

#include "ceilings/machine/machine.h"
#include "counters/cpu/cpu.h"

namespace dlroof {

struct SpotCheck {
  std::string what;  // the row: "fp32.vector.avx512 with 2 threads"
  Ceiling stored;
  double per_second = 0;    // [flop/s] or [byte/s] best repetition now
  bool clean = false;       // no thread waited for a CPU in some repetition, while the first
                            // thread's core was its own before and after
  double tolerance = 0.03;  // [1] that two measurements may differ by
  double drift = 0;         // [1] that one may be lower by: as much as the stored one's passes were
};

enum class SpotVerdict {
  kAgrees,
  kFaster,   // above the stored ceiling: it is too low
  kSlower,   // below the stored interval: something holds the machine back now
  kUnknown,  // others held the CPUs or their cores
};

// Pure. The interval goes from the lower end of the stored ci95 (the rate itself where there is
// none) to the stored rate, widened by the tolerance on both sides, and
// below by the drift where that is more: what was slower once within the measurement may be again.
// Not above: a roof that is too low lets records lie above it.
SpotVerdict Judge(const SpotCheck& check);
// [1] The drift and the spread that are stored with a ceiling, the larger, but a third at most: a
// machine that was so unsteady is looked at all the same.
double AllowedDrift(const Ceiling& stored);

// "fp32.vector.avx512 with 2 threads now 301 G/s, stored 305 G/s: agrees".
std::string Sentence(const SpotCheck& check);

// The machine's fastest fp32 row and DRAM loads, as far as `machine` has them, with the most
// threads that it has ceilings of. One that does not agree is looked at three times, the best
// counts. Under a second where the DRAM working set is below 1 GiB.
std::vector<SpotCheck> SpotCheckCpu(const Cpu& cpu, const Machine& machine);

}  // namespace dlroof
