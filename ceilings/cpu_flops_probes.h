// One row per instruction set and element type: the densest arithmetic that it can do, from
// registers. Chosen at run time by what the CPU has; nothing here needs a compiler flag.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ceilings/workspace.h"

namespace dlroof {

enum class Operands { kFp64, kFp32, kFp16, kBf16, kInt8 };

// Where kernels find their two operands in Workspace::operands [byte]. Vector kernels use the first
// vector of each, AMX kernels two tiles of 1 KiB of each.
inline constexpr std::size_t kFirstOperand = 0, kSecondOperand = 2048;

struct FlopsProbe {
  const char* key;                 // pipe key with its instruction set: "fp32.vector.avx2"
  std::vector<std::string> needs;  // features of counters/cpu.h
  double flops_per_iteration;      // [flop] a fused multiply-add is 2, on integers too
  Operands operands;
  Kernel kernel;
  const char* how;  // the instruction and how many independent accumulators
};

// Rows that this CPU can run, in the order of the tables.
std::vector<FlopsProbe> FlopsProbesFor(const std::set<std::string>& features);

// The same values on every machine, because they matter (AMX with zeros runs up to 16 % faster):
// fp64, fp32, fp16: x = 0.99, y = 0.01, so that a = a * x + y tends to 1; bf16: uniform in [-1, 1);
// int8: first u8 in [0, 127], second s8 in [-127, 127], whose pairs do not saturate 16 bits.
// Accumulators are zeroed.
void FillOperands(Operands operands, Workspace& workspace);

// The tables.
std::vector<FlopsProbe> FloatVectorProbes();  // cpu_flops_probes_float.cpp
std::vector<FlopsProbe> Int8VectorProbes();   // cpu_flops_probes_int8.cpp
std::vector<FlopsProbe> Bf16AndTileProbes();  // cpu_flops_probes_matrix.cpp

}  // namespace dlroof
