// Measures what this machine's CPU can do.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ceilings/machine/machine.h"
#include "ceilings/machine/progress.h"
#include "counters/cpu/cpu.h"

namespace dlroof {

struct MeasureOptions {
  bool quick = false;  // under 10 s instead of under 60 s on two CPUs: fewer, shorter repetitions
  bool thorough = false;     // minutes: more and longer repetitions; pipes and DRAM for 10 s on end
  std::vector<int> threads;  // thread counts; empty: as ThreadCounts has them
  std::function<void(const MeasureProgress&)> progress;  // may be empty
};

// Pinned threads, one per CPU. Ceilings that fail their self-proof are kept, with `proved` false
// and the reason; what cannot be measured is absent, with its reason in facts
// ("absent.l3.threads.2"). The effort of each thread count is in facts ("effort.2": "full" or
// "quick"). Waits for other programs only as long as the time allows. Throws BadInput for a thread
// count that has not a CPU for each thread.
Machine MeasureCpu(const MeasureOptions& options);

// The CPU's part of a machine: device, name, fingerprint, caches, facts; no ceilings.
Machine DescribeCpu(const Cpu& cpu);

// `wanted` sorted and without repetition. When empty 1 and all; with `thorough` also the powers of
// two between them, for which a full measurement has no time. Throws BadInput (see above).
std::vector<int> ThreadCounts(const Cpu& cpu, const std::vector<int>& wanted, bool thorough);

// --- The pure parts, for tests ---

// Adds "fp32.vector" as the one of "fp32.vector.<...>" that ChooseRoof takes, for every pipe with
// finer rows; `how` says which.
void AddPlainPipes(std::map<std::string, Ceiling>& flops);

// [s] that the next probe may take so that the `steps_left` (with it) keep within `budget_left`,
// when each takes `nominal` on a quiet machine; never less than 1.25 nominal nor more than 10.
double Allowance(double budget_left, int steps_left, double nominal);

}  // namespace dlroof
