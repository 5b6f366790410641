// Measures the ceilings of this machine's CPU.
#pragma once

#include <functional>
#include <vector>

#include "ceilings/machine/machine.h"
#include "ceilings/machine/rate.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_ceilings {

struct MeasureOptions {
  // On two CPUs a measurement takes under 60 s, a quick one with fewer and shorter repetitions
  // under 10 s. A thorough one takes minutes and watches pipes and DRAM for 10 s.
  bool quick = false, thorough = false;
  std::vector<int> threads;  // thread counts; ThreadCounts chooses if there are none
  std::function<void(const machine::MeasureProgress&)> progress;  // may be empty
};

// Measures with pinned threads, one per CPU. Ceilings that are not validated stay, with their
// reasons. CeilingSet::absent has the reason of each row that could not be measured. Waits for
// other programs only as long as the time budget allows. Throws BadInput for a thread count without
// a CPU for each thread.
machine::Machine MeasureCpu(const MeasureOptions& options);

// Returns a machine without ceilings: device, name, fingerprint, caches, facts.
machine::Machine DescribeCpu(const cpu::Cpu& cpu);

// Returns `wanted` sorted and without repetitions; if it is empty, 1 and all CPUs, with `thorough`
// also the powers of two between them. Throws BadInput as MeasureCpu does.
std::vector<int> ThreadCounts(const cpu::Cpu& cpu, const std::vector<int>& wanted, bool thorough);

// Returns the time [s] that the next of `steps_left` steps may take so that all of them stay within
// `budget_left` [s], if each takes `nominal` [s] on a quiet machine: 1.25 to 10 times nominal.
double Allowance(double budget_left, int steps_left, double nominal);

}  // namespace dlroof::cpu_ceilings
