// Validates an arithmetic ceiling by the kernel's results and by its operations per cycle, in
// addition to its repetitions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/cpu_kernels/bytes_validation.h"
#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/machine/machine.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_kernels {

// Runs the kernel for 1, 2 and 7 iterations and compares all bytes of its accumulators, also those
// that it must not write, with plain loops over as many elements as it counts. Operands and
// accumulators differ from element to element, which finds a kernel of half the width, with fewer
// accumulators, or without its sum. Floating-point recurrences are compared including their
// rounding; others (fp16, dot products, tiles) are computed on whole numbers that are exact in
// every order. Overwrites the workspace. `text` is the value of Validation::result if the check
// passed.
KernelValidation ValidateFlopsKernel(const FlopsProbe& probe, Workspace& workspace);

// [1/cycle] multiply-adds of fp32 or fp64 vectors that a core starts: vectors of up to 256 bit and
// of 512 bit, by a fused instruction and by a separate product and sum (a pair counts once). A
// value is set if it is known and the same on all products with this CPU's signature.
struct CoreRates {
  std::optional<double> fused, fused_512, separate, separate_512;
};

// Returns the rates by vendor, family and model, none for other CPUs. AMD, Software Optimization
// Guides for Zen 4 (57647) and Zen 5 (58455): two multipliers and two adders, of 512 bit in servers
// with Zen 5 (confirmed on family 26 model 2) and of 256 bit in Zen 4. Intel, Optimization
// Reference Manual (248966): two units of 256 bit since Haswell (confirmed on family 6 model 85,
// whose products differ at 512 bit), two of 512 bit in Sapphire, Emerald and Granite Rapids.
CoreRates RatesOf(const cpu::Cpu& cpu);

// Returns the [step/cycle] of one core that the kernel's instructions allow, ascending (see Issue):
// the core's own rate if it is known, otherwise the values that the ports in Intel's and AMD's
// optimization manuals allow (confirmed on Cascade Lake and on Zen 5, Turin). Kernels with
// Issue::kAny have no values and are not judged.
std::vector<double> AdmissibleStepsPerCycle(const FlopsProbe& probe, const CoreRates& core = {});

// Compares validation.per_cycle with the nearest admissible value within 3 % (4 % for three
// instructions, which never use their ports perfectly). Sets per_cycle_expected, and adds a reason
// if the values differ. Does nothing if the clock was not measured.
void JudgePerCycle(const FlopsProbe& probe, machine::Ceiling& ceiling, const CoreRates& core = {});

// Returns true if the per-cycle value of the row of `threads` threads is confirmed without a second
// pass that agrees. Passes find times at which the machine was slow, and a slow machine cannot
// reach the highest value that the row's instructions allow. A lower value is confirmed if another
// thread count reaches it too and none exceeds it. Call JudgePerCycle for the ceilings of
// `by_threads` first.
bool IsConfirmedPerCycle(const FlopsProbe& probe, int threads,
                         const std::map<int, machine::CeilingSet>& by_threads,
                         const CoreRates& core = {});

}  // namespace dlroof::cpu_kernels
