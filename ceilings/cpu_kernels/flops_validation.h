// Proves an arithmetic ceiling beside its repetitions: by the kernel's results, and by its
// operations per cycle.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/machine/machine.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_kernels {

struct ResultCheck {
  std::string result;  // Proof::result: what was compared; empty when it differed
  std::string reason;  // what differed; empty when nothing did
};

// Runs the kernel for 1, 2 and 7 iterations and compares all bytes of its accumulators, also those
// that it must not touch, with plain loops over as many elements as it counts. Operands and
// accumulators differ from element to element, so that a kernel of half the width, with fewer
// accumulators, or without its sum is found. Floating-point recurrences are compared with their
// roundings; others (fp16, dot products, tiles) on whole numbers that are exact in every order.
// Overwrites the workspace.
ResultCheck CheckResult(const FlopsProbe& probe, Workspace& workspace);

// The vector instructions that a core starts in a cycle: [1/cycle] multiply-adds of fp32 or fp64
// vectors up to 256 bit, and of 512 bit, by one fused instruction, and by a product and a sum (a
// pair counts once). Absent: not known, or not the same on all products with this CPU's signature.
struct CoreRates {
  std::optional<double> fused, fused_512, separate, separate_512;
};

// By vendor, family and model; empty for others. AMD, Software Optimization Guides for Zen 4
// (57647) and Zen 5 (58455): two multipliers and two adders, of 512 bit in servers with Zen 5 (met
// on family 26 model 2) and of 256 bit in Zen 4. Intel, Optimization Reference Manual (248966):
// two units of 256 bit since Haswell (met on family 6 model 85, whose products differ at 512 bit),
// two of 512 bit in Sapphire, Emerald and Granite Rapids.
CoreRates RatesOf(const cpu::Cpu& cpu);

// [step/cycle] of one core that the kernel's instructions allow, ascending; see Issue. Only the
// core's own rate where it is known. Else as Intel's and AMD's optimization manuals describe their
// ports; met on Cascade Lake and on Zen 5 (Turin). Empty: not judged.
std::vector<double> AdmissibleStepsPerCycle(const FlopsProbe& probe, const CoreRates& core = {});

// Holds ceiling.proof.per_cycle against the nearest admissible value, within 3 % (4 % for three
// instructions, which never spread perfectly over their ports): sets per_cycle_expected, and where
// it differs `validated` and `reason` too. Nothing without a clock.
void JudgePerCycle(const FlopsProbe& probe, machine::Ceiling& ceiling, const CoreRates& core = {});

// Returns true where the row of `threads` threads needs no second pass that agrees with the first.
// Passes find slow spells of the machine. A spell cannot produce the highest value that the row's
// instructions allow. A lower value counts where another number of threads meets it too and none
// exceeds it. JudgePerCycle must have judged the ceilings of `by_threads`.
bool MeetsItsOwnValue(const FlopsProbe& probe, int threads,
                      const std::map<int, machine::CeilingSet>& by_threads,
                      const CoreRates& core = {});

}  // namespace dlroof::cpu_kernels
