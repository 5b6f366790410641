// The rows of a GPU's ceilings: their kernels, compute capabilities, launches and work. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ceilings/gpu_kernels/constants.h"
#include "counters/work.h"

namespace dlroof::gpu_kernels {

enum class GpuElement { kFp64, kFp32, kTf32, kFp16, kBf16, kInt8, kFp8 };
enum class GpuUnit {
  kChain,   // multiply-adds of single threads, chains of v = v * a + b (int8: v += dot(a, b))
  kMma,     // mma.sync of a warp
  kWgmma,   // wgmma of a warpgroup, operands in shared memory
  kGemm,    // cublasLt: D = A^T B, n x n x n
  kLoad,    // sums the elements that it reads from the row's level
  kShared,  // sums the elements that it reads from shared memory
  kStore,   // writes one value
  kCopy,    // b = a
  kTriad    // a = b + q * c, fp32
};

// One instruction of an arithmetic kernel: `threads` threads together multiply m x k by k x n
// elements. A loop iteration issues `unroll` instructions on each of `chains` accumulators.
struct GpuInstruction {
  int m = 1, n = 1, k = 1;
  int threads = 1;
  int chains = 1, unroll = 1;
};

struct GpuRow {
  std::string key;  // of CeilingSet::flops ("bf16.matrix.mma") or ::mixes ("dram.load.v16")
  GpuUnit unit = GpuUnit::kChain;
  GpuElement element = GpuElement::kFp32;  // of an arithmetic row
  GpuInstruction instruction;              // of an arithmetic row except kGemm
  Level level = Level::kDram;              // of a memory row
  std::string sass;  // the instruction's name in SASS, "HMMA"; "" for the library's kernels
  std::string text;  // description for people
};

bool IsMemory(const GpuRow& row);

// The launch parameters of a row.
struct GpuShape {
  int blocks = 0, threads = 0;
  int n = 0;                   // size of a GEMM
  std::int64_t set_bytes = 0;  // [byte] of all arrays of a memory row, in L1 of all blocks

  bool operator==(const GpuShape&) const = default;
};

// The properties of a GPU on which the choice of shapes depends.
struct GpuSize {
  int sms = 0;
  std::int64_t l2_bytes = 0, free_bytes = 0;  // [byte]
};

// Returns the rows that a GPU of this compute capability (10 x major + minor: 90) can run:
// arithmetic, then DRAM, L2 and L1. fp8 has mma.sync only where it is not emulated (8.9, 12.x),
// wgmma exists on 9.0 only, and cublasLt is a second row wherever it supports the type. Sources:
// PTX ISA 9.0, sections on mma and wgmma; cublasLt's table of supported types.
std::vector<GpuRow> GpuRows(int compute_capability);

// Returns the [flop] or [byte] of one iteration of the whole launch.
double WorkPerIteration(const GpuRow& row, const GpuShape& shape);

// Returns the launches to try, of which the fastest is measured. Arithmetic and L1 have one block
// per SM, so that half the blocks use half the SMs. `flops_per_second` is the row's expected rate
// and gives a GEMM a size that takes about 10 ms. Sets in DRAM have at least 2 GiB and 64 L2 if
// half of the free memory allows it. Sets in L2 have up to an eighth, a quarter and a half of it
// (with two L2 partitions each may have its own copy), rounded to whole iterations of the unrolled
// loop.
std::vector<GpuShape> GpuShapes(const GpuRow& row, const GpuSize& gpu,
                                std::optional<double> flops_per_second);

// Returns the [byte] that one iteration of the unrolled loop of a DRAM or L2 row moves.
std::int64_t UnrolledBytes(const GpuRow& row, const GpuShape& shape);

// Returns the small launches by which a row's result is checked. In DRAM and L2 the measured grid
// covers such a small set without its unrolled loop, so there is a second launch with few blocks.
std::vector<GpuShape> CheckShapes(const GpuRow& row, const GpuShape& measured);

// Returns the unused shared memory [byte] that a launch requests so that no two blocks run on the
// same SM, 0 for rows whose blocks may share an SM.
int ExclusiveSharedBytes(const GpuRow& row, int shared_bytes_per_sm);

// Returns whether the row has one block per SM and is measured on half of the SMs too.
bool ScalesWithSms(const GpuRow& row);
// Returns the shape with half of the blocks.
GpuShape HalfShape(const GpuShape& shape);

}  // namespace dlroof::gpu_kernels
