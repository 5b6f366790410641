// Checks at the start of a run, in a second, that two stored ceilings are still this machine's.
#pragma once

#include <string>
#include <vector>

#include "ceilings/machine/machine.h"
#include "counters/cpu/cpu.h"

namespace dlroof::machine_file {

struct SpotCheck {
  std::string row;  // "fp32.vector.avx512 with 2 threads"
  machine::Ceiling stored;
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

// Compares with an interval from the lower end of the stored ci95, or the rate itself without one,
// to the stored rate. The tolerance widens both ends. A larger drift widens the lower end instead:
// a rate that drifted within the measurement may drift again. Pure.
SpotVerdict Judge(const SpotCheck& check);
// Returns the larger of the stored drift and spread [1], a third at most.
double AllowedDrift(const machine::Ceiling& stored);

// "fp32.vector.avx512 with 2 threads now 301 G/s, stored 305 G/s: agrees".
std::string Sentence(const SpotCheck& check);

// Measures the machine's fastest fp32 row and DRAM loads, as far as `machine` has them, with the
// most threads that it has ceilings of. A row that does not agree gets three attempts, and the best
// counts. Takes under a second where the DRAM working set is below 1 GiB.
std::vector<SpotCheck> SpotCheckCpu(const cpu::Cpu& cpu, const machine::Machine& machine);

}  // namespace dlroof::machine_file
