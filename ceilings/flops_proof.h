// What proves an arithmetic ceiling beside its repetitions: the kernel computes what it counts, and
// no more and no less per cycle than its instructions can.
#pragma once

#include <string>
#include <vector>

#include "ceilings/cpu_flops_probes.h"
#include "ceilings/machine.h"

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

// [step/cycle] of one core that the kernel's instructions allow, ascending; see Issue. As
// Intel's and AMD's optimization manuals describe their ports; met on Cascade Lake, not yet held
// against other cores. Empty: not judged.
std::vector<double> AdmissibleStepsPerCycle(Issue issue);

// Holds ceiling.proof.per_cycle against the nearest admissible value, within 3 % (4 % for three
// instructions, which never spread perfectly over their ports): sets per_cycle_expected, and where
// it differs `proved` and `reason` too. Nothing without a clock. Whether it meets the value.
bool JudgePerCycle(const FlopsProbe& probe, Ceiling& ceiling);

// Sets proof.scaling of the ceilings of several threads; below 0.9 `how` tells it: cores share a
// power budget.
void AddScaling(Machine& machine);

}  // namespace dlroof
