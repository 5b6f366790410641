// Measures the ceilings of this machine's CPU.
#pragma once

#include <functional>
#include <vector>

#include "ceilings/machine/machine.h"
#include "ceilings/machine/rate.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_ceilings {

struct MeasureOptions {
  bool quick = false;  // under 10 s instead of under 60 s on two CPUs: fewer, shorter repetitions
  bool thorough = false;     // minutes: more and longer repetitions; pipes and DRAM for 10 s on end
  std::vector<int> threads;  // thread counts; empty: as ThreadCounts has them
  std::function<void(const machine::MeasureProgress&)> progress;  // may be empty
};

// Measures with pinned threads, one per CPU. Ceilings that fail their self-proof stay, with
// `validated` false and the reasons. CeilingSet::absent has the reason of each row that cannot be
// measured. Waits for other programs only as long as the time allows. Throws BadInput for a thread
// count that has not a CPU for each thread.
machine::Machine MeasureCpu(const MeasureOptions& options);

// Returns a machine without ceilings: device, name, fingerprint, caches, facts.
machine::Machine DescribeCpu(const cpu::Cpu& cpu);

// Sorts `wanted` and removes repetitions. Empty: 1 and all, with `thorough` also the powers of two
// between them. Throws BadInput (see above).
std::vector<int> ThreadCounts(const cpu::Cpu& cpu, const std::vector<int>& wanted, bool thorough);

// Returns the time [s] of the next probe so that the `steps_left`, with it, keep within
// `budget_left`. Each takes `nominal` on a quiet machine. The result is 1.25 to 10 times nominal.
double Allowance(double budget_left, int steps_left, double nominal);

}  // namespace dlroof::cpu_ceilings
