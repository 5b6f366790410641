// One row per instruction set and element type: the densest arithmetic that it can do, from
// registers (AMX also from L1). Chosen at run time by what the CPU has; nothing here needs a
// compiler flag. row_isa.h has the keys.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "ceilings/cpu_kernels/workspace.h"

namespace dlroof {

// Element type of the two operands.
enum class Operands { kFp64, kFp32, kFp16, kBf16, kInt8, kInt32 };

// What one step does to an accumulator a, with operands x and y:
enum class Recurrence {
  kMultiplyAdd,       // a = a * x + y, two roundings; all of one type
  kFusedMultiplyAdd,  // the same with one rounding
  kDot,   // a += sum of x * y over the operands (2 or 4) that lie beside a; wider accumulators
  kTile,  // a 16 x 16 tile of dot products along 64 bytes (AMX)
};

// Steps per cycle that a core can reach with a kernel's instructions, 1 or 2 units (rarely 3, or
// half a one) for each: AdmissibleStepsPerCycle.
enum class Issue {
  kOne,    // one instruction per step
  kTwo,    // two: multiply, add
  kThree,  // three: multiply, multiply, add
  kTile,   // one of 16 rows
  kAny,    // what a compiler made: not judged
};

// Where kernels find their two operands in Workspace::operands [byte]. Vector kernels use the first
// vector of each, AMX kernels two tiles of 1 KiB of each.
inline constexpr std::size_t kFirstOperand = 0, kSecondOperand = 2048;
inline constexpr std::size_t kTileBytes = 1024;

struct FlopsProbe {
  std::string key;           // pipe key with its instruction set: "fp32.vector.avx2"
  std::string instructions;  // of one step: "vfmadd213ps zmm"
  Operands operands;
  Recurrence recurrence;
  Issue issue;
  std::size_t vector_bytes;  // [byte] of one accumulator
  int accumulators;          // independent ones; an iteration steps each of them `sweeps` times
  int sweeps;
  Kernel kernel;
};

// [byte] of one element of the operands, and of the accumulators.
std::size_t OperandBytes(Operands operands);
std::size_t AccumulatorBytes(const FlopsProbe& probe);

// [flop] of one step of one accumulator, and of an iteration; a multiply-add is 2, on integers too.
double FlopsPerStep(const FlopsProbe& probe);
double FlopsPerIteration(const FlopsProbe& probe);

// "avx512 vfmadd213ps zmm, 16 accumulators".
std::string How(const FlopsProbe& probe);

// Rows that run with these features, in the order of the tables: within a pipe by rising rate, as
// far as one can know. Without any, those of plain C++.
std::vector<FlopsProbe> FlopsProbesFor(const std::set<std::string>& features);

// "fp32.vector" of "fp32.vector.avx2", and of itself: what a row is a finer row of.
std::string PlainPipe(const std::string& row);

// Keys of the rows that may be the best of their pipe: the last two of each.
std::set<std::string> RoofCandidates(const std::vector<FlopsProbe>& probes);

// The same values on every machine, because they matter (AMX with zeros runs up to 16 % faster):
// fp64, fp32, fp16: x = 0.99, y = 0.01, so that a = a * x + y tends to 1; bf16 and fp16 tiles:
// uniform in [-1, 1); int8: first u8 in [0, 127], second s8 in [-127, 127], whose pairs do not
// saturate 16 bits; int32: random. Accumulators are zeroed.
void FillOperands(const FlopsProbe& probe, Workspace& workspace);

// Every row of this program: the tables below, where the CPU's family has them.
std::vector<FlopsProbe> NativeFlopsProbes();  // cpu_flops_tables_x86.cpp, _other.cpp

std::vector<FlopsProbe> MultiplyAddProbes();    // cpu_flops_probes_multiply_add.cpp
std::vector<FlopsProbe> FusedProbes();          // cpu_flops_probes_fused.cpp
std::vector<FlopsProbe> HalfVectorProbes();     // cpu_flops_probes_half.cpp
std::vector<FlopsProbe> Int8VectorProbes();     // cpu_flops_probes_int8.cpp
std::vector<FlopsProbe> TileProbes();           // cpu_flops_probes_tiles.cpp
std::vector<FlopsProbe> PortableFlopsProbes();  // cpu_flops_probes_portable.cpp, for every CPU

}  // namespace dlroof
