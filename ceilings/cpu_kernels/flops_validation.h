// Checks that validate an arithmetic ceiling in addition to its repetitions: the kernel's results
// and its operations per cycle.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/cpu_kernels/flops.h"
#include "ceilings/machine/machine.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_kernels {

// Runs the kernel for 1, 2 and 7 iterations and compares all bytes of Workspace::accumulators, also
// those that it must not write, with a reference loop. All elements differ, which finds kernels of
// half the width, with fewer accumulators, or without the sum. Multiply-adds of fp32 and fp64 are
// compared including their rounding; all others (fp16, dot products, tiles) on whole numbers whose
// sums are exact in any order. Overwrites the workspace. If the check passed, `text` is the value
// of Validation::result.
KernelValidation ValidateFlopsKernel(const FlopsProbe& probe, Workspace& workspace);

// [1/cycle] Vector multiply-adds of fp32 or fp64 that a core can start, on vectors of up to 256 bit
// and of 512 bit. `fused` counts FMA instructions, `separate` pairs of a multiply and an add. Each
// is absent if it is unknown or differs between products with this CPU's family and model.
struct CoreRates {
  std::optional<double> fused, fused_512, separate, separate_512;
};

// Returns the rates for the CPU's vendor, family and model; all are absent for unknown CPUs.
// Sources: AMD Software Optimization Guides for Zen 2 (56305), Zen 3 (56665), Zen 4 (57647) and
// Zen 5 (58455): two multipliers and two adders, of 256 bit up to Zen 4 and 512 bit in Zen 5
// servers (confirmed on family 25 model 1 and family 26 model 2). Intel Optimization Reference
// Manual (248966): two units of 256 bit since Haswell (confirmed on family 6 model 85, whose
// products differ at 512 bit), two of 512 bit in Sapphire, Emerald and Granite Rapids. Their
// multiply and add pairs share three ports, of which Golden Cove's scheduler used 0.905 to 0.909 in
// every measurement (family 6 model 207, SSE and AVX).
CoreRates RatesOf(const cpu::Cpu& cpu);

// Returns the possible rates [step/cycle] of the kernel on one core, ascending: the known rate in
// `core`, otherwise all values that the execution ports in Intel's and AMD's optimization manuals
// allow (confirmed on Cascade Lake and Zen 5).
std::vector<double> AdmissibleStepsPerCycle(const FlopsProbe& probe, const CoreRates& core = {});

// Compares validation.per_cycle with the nearest admissible value (AdmissibleStepsPerCycle) within
// 3 %, or 4 % for steps of three instructions, which never use their ports perfectly. Sets
// per_cycle_expected, also of the ceiling's own visit. Adds a reason if the values differ. Returns
// at once if the clock was not measured.
void JudgePerCycle(const FlopsProbe& probe, machine::Ceiling& ceiling, const CoreRates& core = {});

// Validates a ceiling whose operations per cycle are the highest admissible value
// (AdmissibleStepsPerCycle) within the tolerance of JudgePerCycle: interference cannot have lowered
// its rate by more than this tolerance, so few clean repetitions suffice. Call it after
// JudgePerCycle, for ceilings with at least two clean repetitions that agree. Does not validate a
// kernel whose result was wrong.
void ValidateAtTheLimit(const FlopsProbe& probe, machine::Ceiling& ceiling,
                        const CoreRates& core = {});

// Returns true if the row with `threads` threads needs no second pass that agrees: its flop per
// cycle is the highest admissible value, which a slowed machine cannot reach, or a lower admissible
// value that another thread count also reached and none exceeded. Call JudgePerCycle for all
// ceilings of `by_threads` first.
bool IsConfirmedPerCycle(const FlopsProbe& probe, int threads,
                         const std::map<int, machine::CeilingSet>& by_threads,
                         const CoreRates& core = {});

// The clock of a core while a kernel runs. Some cores lower their clock within microseconds of wide
// instructions and raise it as soon after them (an Emerald Rapids: 2.29 GHz under AMX tiles, 2.89
// GHz before and after), so a reading after the kernel is not the kernel's clock. Here the kernel's
// own loop also has a chain of dependent multiplications: if the chain takes longer than the rest
// of an iteration, the loop's time counts cycles under the kernel's load.

// One of FlopsProbe::clocks, timed.
struct ClockTrial {
  int multiplications = 0;
  double seconds = 0;  // [s] of the fastest iteration
};

// Returns the index of the shortest chain that counts cycles beside the kernel, or nothing.
// `kernel_seconds` [s] is the kernel's own iteration without a chain; the chain must be at least 4
// % longer. With `shares_ports` the kernel's instructions may take the chain's port (vectors of up
// to 32 bytes on Intel's cores) and delay it: then the time per multiplication must be within 1.5 %
// of the fastest longer chain's. Pure.
std::optional<std::size_t> ChooseClock(double kernel_seconds, const std::vector<ClockTrial>& trials,
                                       bool shares_ports);

// A clock kernel and the iterations of one reading.
struct LoadClock {
  ClockKernel clock;
  std::int64_t iterations = 1;  // per reading, some 80 us
};

// Chooses a clock for the kernel by running it and its clock kernels for about 10 ms in all. `run`
// executes a kernel on all threads of the team and returns the time [s]. Returns nullopt if the
// probe has no clock kernel that counts cycles.
std::optional<LoadClock> FindLoadClock(
    const FlopsProbe& probe,
    const std::function<double(Kernel kernel, std::int64_t iterations)>& run);

// Returns the clock [1/s] of the calling thread's core under the kernel's load: the median of five
// readings, 0.4 ms in all. Overwrites the accumulators of `workspace`.
double MeasureLoadClock(const LoadClock& clock, Workspace& workspace);

}  // namespace dlroof::cpu_kernels
