// Arithmetic kernels, one row per instruction set and element type: the densest arithmetic that it
// can do from registers (AMX also from L1). The CPU's features choose the rows at run time; no row
// needs a compiler flag. ceilings/machine/ceiling.h describes the keys.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "ceilings/cpu_kernels/bytes.h"

namespace dlroof::cpu_kernels {

// Element type of the two operands.
enum class Operands { kFp64, kFp32, kFp16, kBf16, kInt8, kInt32 };

// The effect of one step on an accumulator a, with operands x and y.
enum class Recurrence {
  kMultiplyAdd,       // a = a * x + y, two roundings; all of one type
  kFusedMultiplyAdd,  // the same with one rounding
  kDot,   // a += sum of x * y over the 2 or 4 operands of a's lane; a is wider than they are
  kTile,  // a 16 x 16 tile of dot products along 64 bytes (AMX)
};

// Instructions of one step. A core has 1 or 2 units for each of them, rarely 3 or a half
// (AdmissibleStepsPerCycle).
enum class Issue {
  kOne,    // one instruction per step
  kTwo,    // multiply, add
  kThree,  // multiply, multiply, add
  kTile,   // one tile product of 16 rows
  kAny,    // as compiled; steps per cycle are not judged
};

// Offsets [byte] of a kernel's two operands in Workspace::operands. Vector kernels read the first
// vector of each, AMX kernels two tiles of 1 KiB.
inline constexpr std::size_t kFirstOperand = 0, kSecondOperand = 2048;
inline constexpr std::size_t kTileBytes = 1024;

struct FlopsProbe {
  std::string key;           // pipe key with its instruction set: "fp32.vector.avx2"
  std::string instructions;  // of one step: "vfmadd213ps zmm"
  Operands operands;
  Recurrence recurrence;
  Issue issue;
  std::size_t vector_bytes;  // [byte] of one accumulator
  int accumulators;          // independent of each other; an iteration steps each `sweeps` times
  int sweeps;
  Kernel kernel;
};

// Return the size [byte] of one element of the operands and of the accumulators.
std::size_t OperandBytes(Operands operands);
std::size_t AccumulatorBytes(const FlopsProbe& probe);

// Return the [flop] of one step of one accumulator and of an iteration. A multiply-add is 2 flop.
double FlopsPerStep(const FlopsProbe& probe);
double FlopsPerIteration(const FlopsProbe& probe);

// Returns "avx512 vfmadd213ps zmm, 16 accumulators".
std::string How(const FlopsProbe& probe);

// Returns the rows that run with these features, in the order of the tables: within a pipe by
// rising expected rate. Returns the rows of plain C++ if no other row can run.
std::vector<FlopsProbe> FlopsProbesFor(const std::set<std::string>& features);

// Returns "fp32.vector" for "fp32.vector.avx2" and for "fp32.vector".
std::string PlainPipe(const std::string& row);

// Returns the keys of the rows that may be the best of their pipe: the last two rows of each pipe.
std::set<std::string> RoofCandidates(const std::vector<FlopsProbe>& probes);

// Writes the same operands on every machine, because AMX is up to 16 % faster with zeros. fp64,
// fp32 and fp16: x = 0.99 and y = 0.01, so that a = a * x + y tends to 1. bf16 and fp16 tiles:
// uniform in
// [-1, 1). int8: x is u8 in [0, 127] and y is s8 in [-127, 127], whose pairs do not saturate 16
// bits. int32: random. Sets the accumulators to 0.
void FillOperands(const FlopsProbe& probe, Workspace& workspace);

// Returns all rows of this architecture: those of the tables below.
std::vector<FlopsProbe> NativeFlopsProbes();  // x86/native_tables.cpp, other/portable_tables.cpp

std::vector<FlopsProbe> MultiplyAddProbes();    // x86/flops_multiply_add.cpp
std::vector<FlopsProbe> FusedProbes();          // x86/flops_fused.cpp
std::vector<FlopsProbe> HalfVectorProbes();     // x86/flops_half.cpp
std::vector<FlopsProbe> Int8VectorProbes();     // x86/flops_int8.cpp
std::vector<FlopsProbe> TileProbes();           // x86/flops_tiles.cpp
std::vector<FlopsProbe> PortableFlopsProbes();  // kernels_portable.cpp, for every CPU

}  // namespace dlroof::cpu_kernels
