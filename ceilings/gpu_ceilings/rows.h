// The rows (kernels) that measure GPU ceilings: their GPUs, launch shapes, operands and work. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/gpu_ceilings/constants.h"
#include "counters/base/work.h"

namespace dlroof::gpu_ceilings {

// Types of operands; kInt32 only of sums.
enum class GpuElement { kFp64, kFp32, kTf32, kFp16, kBf16, kInt8, kFp8, kInt32 };
enum class GpuUnit {
  kChain,   // chains of v = v * v + b in each thread (int8: v += dot(a, b))
  kMma,     // mma.sync of a warp
  kWgmma,   // wgmma of a warpgroup, operands in shared memory
  kGemm,    // cublasLt: D = A^T B, n x n x n
  kLoad,    // sums the elements that it reads from the memory level
  kShared,  // sums the elements that it reads from shared memory
  kStore,   // writes the same value to all elements
  kCopy,    // b = a
  kTriad    // a = b + q * c, fp32
};

// One instruction of an arithmetic kernel: `threads` threads together multiply an m x k by a k x n
// matrix. A loop iteration issues `unroll` instructions on each of `chains` accumulators.
struct GpuInstruction {
  int m = 1, n = 1, k = 1;
  int threads = 1;
  int chains = 1, unroll = 1;
};

struct GpuRow {
  std::string key;  // in CeilingSet::flops ("bf16.matrix.mma") or ::mixes ("dram.load.v16")
  GpuUnit unit = GpuUnit::kChain;
  GpuElement element = GpuElement::kFp32;  // operand type of an arithmetic row
  GpuInstruction instruction;              // of an arithmetic row except kGemm
  std::string sass;                        // the instruction in SASS ("HMMA"); "" for cublasLt
  std::string text;                        // description for people
  Level level = Level::kDram;              // of a memory row
};

bool IsMemory(const GpuRow& row);

struct GpuShape {
  int blocks = 0, threads = 0;
  int n = 0;                   // of a GEMM of n x n matrices
  std::int64_t set_bytes = 0;  // [byte] all arrays of a memory row (of all blocks if in L1)

  bool operator==(const GpuShape&) const = default;
};

struct GpuSize {
  int sms = 0;
  std::int64_t l2_bytes = 0, free_bytes = 0;  // [byte]
};

// Returns the rows that a GPU of this compute capability (10 x major + minor: 90) can run:
// arithmetic, then DRAM, L2 and L1. fp8 mma.sync is included only where it is not emulated
// (8.9, 12.x), wgmma on 9.0 only; cublasLt is a further row for every type that it supports.
// Sources: PTX ISA 9.0, sections on mma and wgmma; cublasLt's table of supported types.
std::vector<GpuRow> GpuRows(int compute_capability);

// Returns the work [flop] or [byte] of one iteration of all blocks together.
double WorkPerIteration(const GpuRow& row, const GpuShape& shape);

// Returns launch shapes to try; the fastest one is used. Arithmetic and L1 rows have one block per
// SM, so that half the blocks use half the SMs. A GEMM has a size that takes about 10 ms at
// `flops_per_second`, its expected rate. Arrays in DRAM have at least 2 GiB and 64 x L2 if half of
// the free memory allows it; arrays in L2 have up to an eighth, a quarter and a half of L2 (two L2
// partitions may each have a copy), rounded to whole iterations of the unrolled loop.
std::vector<GpuShape> GpuShapes(const GpuRow& row, const GpuSize& gpu,
                                std::optional<double> flops_per_second);

// Returns the bytes that one iteration of the unrolled loop of a DRAM or L2 row moves.
std::int64_t UnrolledBytes(const GpuRow& row, const GpuShape& shape);

// Returns launch shapes with small arrays, to check a row's results. For DRAM and L2 the second
// shape has few blocks: with the many blocks of `measured`, no block would reach its unrolled loop.
std::vector<GpuShape> CheckShapes(const GpuRow& row, const GpuShape& measured);

// Returns the shared memory [byte] that a launch requests without using it, so that no two blocks
// run on the same SM. Returns 0 for rows whose blocks may share an SM.
int ExclusiveSharedBytes(const GpuRow& row, int shared_bytes_per_sm);

// Returns true if the row has one block per SM and is also measured on half of the SMs.
bool ScalesWithSms(const GpuRow& row);
// Returns `shape` with half of the blocks (at least 1) and their share of set_bytes.
GpuShape HalfShape(const GpuShape& shape);

using GpuBytes = std::vector<std::byte>;

// kKnown operands give results that are exact in every order of additions. kRandom operands, for
// timed runs, vary in all bits of the type: zeros would use less power and allow a higher clock.
enum class GpuOperandKind { kKnown, kRandom };

int ElementBytes(GpuElement element);
// Rounds the value to the type and writes ElementBytes(element) bytes. tf32 is stored as fp32.
void WriteElement(GpuElement element, double value, std::byte* to);
double ReadElement(GpuElement element, const std::byte* from);

// Returns the type of an accumulator for operands of this type: int32 for int8, fp64 for fp64,
// otherwise fp32.
GpuElement SumElement(GpuElement element);

// Returns the value of operand `index`. kKnown: a whole number from -2 to 2. kRandom: a whole
// number from -127 to 127 in int8, else a value in [-1, 1).
double OperandValue(GpuElement element, GpuOperandKind kind, std::uint64_t index);

template <class T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void Store(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace dlroof::gpu_ceilings
