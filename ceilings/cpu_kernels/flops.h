// Kernels that measure a core's FLOP/s, one per instruction set and element type, with operands in
// registers. CPU features select the kernels at run time; no compiler flag is needed.
// ceilings/machine/machine.h describes the keys.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "ceilings/cpu_kernels/bytes.h"

namespace dlroof::cpu_kernels {

// Element type of the two operands.
enum class Operands { kFp64, kFp32, kFp16, kBf16, kInt8 };

// What one step does to an accumulator a with the operands x and y.
enum class Recurrence {
  kMultiplyAdd,       // a = a * x + y with two roundings, all of one type
  kFusedMultiplyAdd,  // the same with one rounding
  kDot,               // a += sum of 2 or 4 products x * y per element of a, which is wider
  kTile,              // AMX: a 16 x 16 tile of dot products over 64 bytes
};

// Instructions of one step (see AdmissibleStepsPerCycle for the steps that a core can start).
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

// A kernel's loop with a chain of dependent multiplications beside it (flops_validation.h).
struct ClockKernel {
  int multiplications;  // of kCyclesPerMultiplication each, per iteration
  Kernel kernel;
};
// [cycle] Latency of an integer multiplication of 32 bits: Intel's cores since 2008, AMD's since
// 2017 (Fog, Instruction tables).
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
  std::vector<ClockKernel> clocks = {};  // by rising multiplications; empty: none
};

// Return the size [byte] of one element of the operands and of the accumulators.
std::size_t OperandBytes(Operands operands);
std::size_t AccumulatorBytes(const FlopsProbe& probe);

// Return the [flop] of one step on one accumulator and of one iteration (multiply-add: 2 flop).
double FlopsPerStep(const FlopsProbe& probe);
double FlopsPerIteration(const FlopsProbe& probe);

// Returns "avx512 vfmadd213ps zmm, 16 accumulators".
std::string How(const FlopsProbe& probe);

// Returns the kernels that these CPU features allow, within a pipe by rising expected rate.
std::vector<FlopsProbe> FlopsProbesFor(const std::set<std::string>& features);

// Returns "fp32.vector" for "fp32.vector.avx2" and for "fp32.vector".
std::string PlainPipe(const std::string& row);

// Returns the keys that may have the highest rate of their pipe: the last two of each pipe in
// `probes`.
std::set<std::string> RoofCandidates(const std::vector<FlopsProbe>& probes);

// Writes operands that are the same on every machine, because AMX is up to 16 % faster with zeros:
// - fp64, fp32, fp16: x = 0.99 and y = 0.01, so that a = a * x + y tends to 1
// - bf16 and fp16 tiles: uniform in [-1, 1)
// - int8: x is u8 in [0, 127], y is s8 in [-127, 127]; sums of two products fit in 16 bits
// Sets the accumulators to 0.
void FillOperands(const FlopsProbe& probe, Workspace& workspace);

// Returns all kernels: those of the functions below.
std::vector<FlopsProbe> AllFlopsProbes();

std::vector<FlopsProbe> MultiplyAddProbes();        // flops_multiply_add.cpp
std::vector<FlopsProbe> Int8TripleProbes();         // flops_int8.cpp
std::vector<FlopsProbe> SingleInstructionProbes();  // flops_single.cpp
std::vector<FlopsProbe> TileProbes();               // flops_tiles.cpp

}  // namespace dlroof::cpu_kernels
