// Kernels that measure a core's FLOP/s, one per instruction set and element type, with operands in
// registers. CPU features select the kernels at run time; no compiler flag is needed.
// ceilings/machine/machine.h describes the keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ceilings/cpu_kernels/bytes.h"
#include "ceilings/machine/machine.h"
#include "counters/cpu/cpu.h"

namespace dlroof::cpu_kernels {

enum class Operands { kFp64, kFp32, kFp16, kBf16, kInt8 };

// What one step does to an accumulator a with the operands x and y.
enum class Recurrence {
  kMultiplyAdd,       // a = a * x + y with two roundings, all of one type
  kFusedMultiplyAdd,  // a = a * x + y with one rounding, all of one type
  kDot,               // a += sum of 2 or 4 products x * y per element of a, whose type is wider
  kTile,              // AMX: a 16 x 16 tile of dot products over 64 bytes
};

// Instructions of one step. AdmissibleStepsPerCycle says how many steps a core can start.
enum class Issue {
  kOne,    // one instruction per step
  kTwo,    // multiply, add
  kThree,  // multiply, multiply, add
  kTile,   // one AMX tile multiplication (16 rows)
};

// Offsets [byte] of the operands x and y in Workspace::operands. Vector kernels read one vector at
// each offset, AMX kernels two tiles of 1 KiB.
inline constexpr std::size_t kFirstOperand = 0, kSecondOperand = 2048;
inline constexpr std::size_t kTileBytes = 1024;

// A kernel's loop with a chain of dependent multiplications beside it.
struct ClockKernel {
  int multiplications;  // length of the chain, per iteration of the loop
  Kernel kernel;
};
// [cycle] Latency of a 32-bit multiplication: Intel since 2008, AMD since 2017 (Fog, Instructions).
inline constexpr double kCyclesPerMultiplication = 3;

struct FlopsProbe {
  std::string key;           // pipe key with its instruction set: "fp32.vector.avx2"
  std::string instructions;  // instructions of one step: "vfmadd213ps zmm"
  Operands operands;
  Recurrence recurrence;
  Issue issue;
  std::size_t vector_bytes;  // [byte] size of one accumulator
  int accumulators;          // independent; an iteration does `sweeps` steps on each
  int sweeps = 1;
  Kernel kernel = nullptr;
  std::vector<ClockKernel> clocks = {};  // by rising length; empty: the clock under load is unknown
};

// Return the size [byte] of one element of the operands and of the accumulators.
std::size_t OperandBytes(Operands operands);
std::size_t AccumulatorBytes(const FlopsProbe& probe);

// Return the work [flop] of one step on one accumulator and of one iteration (multiply-add: 2).
double FlopsPerStep(const FlopsProbe& probe);
double FlopsPerIteration(const FlopsProbe& probe);

// Returns "avx512 vfmadd213ps zmm, 16 accumulators".
std::string How(const FlopsProbe& probe);

// Returns the kernels that these CPU features allow, within a pipe by rising expected rate.
std::vector<FlopsProbe> FlopsProbesFor(const std::set<std::string>& features);

// Returns the keys of rows that may become a roof: the last (fastest) two of each pipe in `probes`.
std::set<std::string> RoofCandidates(const std::vector<FlopsProbe>& probes);

// Writes operands and sets the accumulators to 0. The operands are the same on every machine and
// not zero, because AMX is up to 16 % faster with zeros:
// - fp64, fp32, fp16: x = 0.99 and y = 0.01, so that a = a * x + y tends to 1
// - bf16: uniform in [-1, 1); fp16 tiles: magnitude in [0.5, 1), random sign
// - int8: x is u8 in [0, 127], y is s8 in [-127, 127]; sums of two products fit in 16 bits
void FillOperands(const FlopsProbe& probe, Workspace& workspace);

std::vector<FlopsProbe> AllFlopsProbes();

std::vector<FlopsProbe> MultiplyAddProbes();        // flops_multiply_add.cpp
std::vector<FlopsProbe> Int8TripleProbes();         // flops_int8.cpp
std::vector<FlopsProbe> SingleInstructionProbes();  // flops_single.cpp
std::vector<FlopsProbe> TileProbes();               // flops_tiles.cpp

// Runs the kernel for 1, 2 and 7 iterations and compares all bytes of Workspace::accumulators, also
// those that it must not write, with a reference loop. All elements differ, so that a kernel of
// half the width, with fewer accumulators or without the addition is found. Multiply-adds of fp32
// and fp64 must round as the loop does; all others (fp16, dot products, tiles) compute whole
// numbers, with sums exact in any order. Overwrites the workspace. If passed, `text` is
// Validation::result.
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

// Compares validation.per_cycle, if known, with the nearest admissible value
// (AdmissibleStepsPerCycle) within 3 %, or 4 % for three instructions, which never use ports
// perfectly. Sets per_cycle_expected of the validation and of the last visit. Adds a reason if the
// values differ.
void JudgePerCycle(const FlopsProbe& probe, machine::Ceiling& ceiling, const CoreRates& core = {});

// Validates a ceiling whose operations per cycle are the highest admissible value
// (AdmissibleStepsPerCycle) within the tolerance of JudgePerCycle: interference cannot have lowered
// it by more than this, so few clean repetitions suffice. Call it after JudgePerCycle, for ceilings
// with at least two clean repetitions that agree. Leaves unbounded ceilings unchanged.
void ValidateAtTheLimit(const FlopsProbe& probe, machine::Ceiling& ceiling,
                        const CoreRates& core = {});

// Returns true if the row with `threads` threads needs no second pass that agrees: its flop per
// cycle is the highest admissible value, which a slowed machine cannot reach, or a value that
// another thread count also reached and no thread count exceeded. Call JudgePerCycle for all
// ceilings of `by_threads` first.
bool IsConfirmedPerCycle(const FlopsProbe& probe, int threads,
                         const std::map<int, machine::CeilingSet>& by_threads,
                         const CoreRates& core = {});

// The clock of a core while a kernel runs. Some cores lower their clock within microseconds of wide
// instructions and raise it as soon after them (an Emerald Rapids: 2.29 GHz under AMX tiles, 2.89
// GHz before and after), so a reading after the kernel is not the kernel's clock. A clock kernel is
// the kernel's loop with a chain of dependent multiplications: if the chain takes longer than the
// rest of an iteration, the loop's time counts cycles under the kernel's load.

// A timed clock kernel of FlopsProbe::clocks.
struct ClockTrial {
  int multiplications = 0;
  double seconds = 0;  // [s] of the fastest iteration
};

// Returns the index of the shortest chain in `trials` whose time counts cycles, or nullopt. An
// iteration with the chain must take at least 4 % longer than one without a chain (`kernel_seconds`
// [s]). `shares_ports`: the kernel may use the chain's execution port (vectors up to 32 bytes on
// Intel's cores). Then the chain's time per multiplication must also be within 1.5 % of that of the
// fastest longer chain. Pure.
std::optional<std::size_t> ChooseClock(double kernel_seconds, const std::vector<ClockTrial>& trials,
                                       bool shares_ports);

struct LoadClock {
  ClockKernel clock;
  std::int64_t iterations = 1;  // iterations of one reading, some 80 us
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
