// Measures the roofs of this machine's CPU: FLOP/s per data type and byte/s per memory level.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ceilings/machine/machine.h"
#include "ceilings/machine/rate.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_ceilings {

struct MeasureOptions {
  // Duration on two CPUs: under 60 s; `quick` (fewer, shorter repetitions) under 10 s; `thorough`
  // minutes, of which each pipe and DRAM run for 10 s without a pause.
  bool quick = false, thorough = false;
  std::vector<int> threads;  // thread counts to measure; if empty, see ThreadCounts
  // Measures the roofs only, in at most 25 s on two CPUs: no rows for comparison, no curves.
  bool roofs_only = false;
  std::set<std::string> pipes = {};  // plain pipes ("fp32.vector") to measure; empty: all
  // Measures these rows only (keys of CeilingSet::flops and ::mixes by thread count), for about 3
  // s: another visit. If not empty, the members above do not matter.
  std::map<int, std::set<std::string>> rows = {};
  std::function<void(const machine::MeasureProgress&)> progress = {};  // may be empty
};

// Measures with pinned threads, one per CPU. The result includes ceilings that are not validated,
// with reasons. CeilingSet::absent says why a row could not be measured. Repeats noisy repetitions
// within the time budget. Throws BadInput if a thread count exceeds the number of allowed CPUs.
machine::Machine MeasureCpu(const MeasureOptions& options);

// Keys in Machine::facts: the release of the operating system's kernel, the CPU's microcode. A
// change of either may change rates.
inline constexpr const char *kKernelFact = "kernel", *kMicrocodeFact = "microcode";

// Returns the plain pipes of which the CPU has kernels.
std::set<std::string> PipesOf(const cpu::Cpu& cpu);

// Sets the roofs of pipes and levels (CeilingSet::flops, ::bytes) from the rows, compares thread
// counts and marks roofs below a point near their ridge. Call it after measured rows were joined.
// `cores`: as in machine::AddScaling.
void AddRoofs(machine::Machine& machine, std::optional<int> cores);

// Returns the device, name, fingerprint, caches and facts of the CPU, without ceilings.
machine::Machine DescribeCpu(const cpu::Cpu& cpu);

// Returns `wanted` sorted and without duplicates. If it is empty: 1 and the number of all CPUs;
// with `thorough` also the powers of two between. Throws BadInput as MeasureCpu does.
std::vector<int> ThreadCounts(const cpu::Cpu& cpu, const std::vector<int>& wanted, bool thorough);

// Returns the time [s] that the next of `steps_left` steps may take so that all finish within
// `budget_left` [s], if each takes `nominal` [s] on a quiet machine: 1.25 to `longest` times that.
double Allowance(double budget_left, int steps_left, double nominal, double longest);

}  // namespace dlroof::cpu_ceilings
