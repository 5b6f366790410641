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
  // Duration on two CPUs: under 60 s; `quick` (fewer, shorter repetitions): under 10 s; `thorough`:
  // minutes, including 10 s without a pause for each pipe.
  bool quick = false, thorough = false;
  std::vector<int> threads;  // thread counts to measure; if empty, see ThreadCounts
  // Measures only rows that may be roofs, in at most 25 s on two CPUs, and no curves.
  bool roofs_only = false;
  std::set<std::string> pipes = {};  // plain pipes ("fp32.vector") to measure; empty: all
  // If not empty, measures only these rows (keys of CeilingSet::flops and ::mixes by thread count)
  // once more, for about 3 s (a visit), and ignores all other members except `progress`.
  std::map<int, std::set<std::string>> rows = {};
  std::function<void(const machine::MeasureProgress&)> progress = {};  // may be empty
};

// Measures with pinned threads, one per CPU. The result includes ceilings that are not validated,
// with reasons. CeilingSet::absent says why a row could not be measured. Repeats noisy repetitions
// within the time budget. Throws BadInput if a thread count exceeds the number of allowed CPUs.
machine::Machine MeasureCpu(const MeasureOptions& options);

// Keys in Machine::facts: the OS kernel's release, the CPU's microcode version. They affect rates.
inline constexpr const char *kKernelFact = "kernel", *kMicrocodeFact = "microcode";

// Returns the plain pipes ("fp32.vector") for which there is a kernel that the CPU can run.
std::set<std::string> PipesOf(const cpu::Cpu& cpu);

// Chooses the roofs of pipes and levels (CeilingSet::flops, ::bytes) among the rows, compares
// thread counts and marks roofs that a ridge point exceeds. Call it after machine::Learned has
// joined rows of several measurements. `cores` is the parameter of machine::AddScaling.
void AddRoofs(machine::Machine& machine, std::optional<int> cores);

// Returns the device, name, fingerprint, caches and facts of the CPU, without ceilings.
machine::Machine DescribeCpu(const cpu::Cpu& cpu);

// Returns `wanted` sorted and without duplicates. If `wanted` is empty, returns 1, the number of
// allowed CPUs and, with `thorough`, the powers of two between. Throws BadInput if a count is below
// 1 or exceeds the number of allowed CPUs.
std::vector<int> ThreadCounts(const cpu::Cpu& cpu, const std::vector<int>& wanted, bool thorough);

// Returns the time [s] that the next of `steps_left` steps may take so that all finish within
// `budget_left` [s], if the others take 1.25 x `nominal` [s]. The result is at least 1.25 x and at
// most `longest` x `nominal`.
double Allowance(double budget_left, int steps_left, double nominal, double longest);

}  // namespace dlroof::cpu_ceilings
