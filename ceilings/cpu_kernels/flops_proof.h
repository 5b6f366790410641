// What proves an arithmetic ceiling beside its repetitions: the kernel computes what it counts, and
// no more and no less per cycle than its instructions can.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ceilings/cpu_kernels/core_rates.h"
#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/machine/machine.h"

namespace dlroof {

struct ResultCheck {
  std::string result;  // Proof::result: what was compared; empty when it differed
  std::string doubt;   // what differed; empty when nothing did
};

// Runs the kernel for 1, 2 and 7 iterations and compares all bytes of its accumulators, also those
// that it must not touch, with plain loops over as many elements as it counts. Operands and
// accumulators differ from element to element, so that a kernel of half the width, with fewer
// accumulators, or without its sum is found. Floating-point recurrences are compared with their
// roundings; others (fp16, dot products, tiles) on whole numbers that are exact in every order.
// Overwrites the workspace.
ResultCheck CheckResult(const FlopsProbe& probe, Workspace& workspace);

// [step/cycle] of one core that the kernel's instructions allow, ascending; see Issue. Only the
// core's own rate where it is known. Else as Intel's and AMD's optimization manuals describe their
// ports; met on Cascade Lake and on Zen 5 (Turin). Empty: not judged.
std::vector<double> AdmissibleStepsPerCycle(const FlopsProbe& probe, const CoreRates& core = {});

// Holds ceiling.proof.per_cycle against the nearest admissible value, within 3 % (4 % for three
// instructions, which never spread perfectly over their ports): sets per_cycle_expected, and where
// it differs `proved` and `reason` too. Nothing without a clock.
void JudgePerCycle(const FlopsProbe& probe, Ceiling& ceiling, const CoreRates& core = {});

// Whether the row of `threads` threads needs no second pass to agree with the first: a slow spell
// of the machine, which passes are there to find, cannot make what it reaches. So where it meets
// the highest value that its instructions allow; or a lower one (a spell may land there too) that
// another number of threads, at another time, meets as well and none exceeds. `by_threads` holds
// ceilings that JudgePerCycle has seen.
bool MeetsItsOwnValue(const FlopsProbe& probe, int threads,
                      const std::map<int, CeilingSet>& by_threads, const CoreRates& core = {});

}  // namespace dlroof
