// The rows of a GPU's ceilings: their kernels, compute capabilities and work. Pure.
#pragma once

#include <cstdint>
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
  kShared,  // the same from shared memory
  kStore,   // writes one value
  kCopy,    // b = a
  kTriad    // a = b + q * c, fp32
};

// One instruction of an arithmetic kernel multiplies m x k by k x n elements; `threads` of them
// execute it together. A loop iteration issues `unroll` of them on each of `chains` accumulators.
struct GpuInstruction {
  int m = 1, n = 1, k = 1;
  int threads = 1;
  int chains = 1, unroll = 1;
};

struct GpuRow {
  std::string key;  // of CeilingSet::flops ("bf16.matrix.mma") or ::mixes ("dram.load.v16")
  GpuUnit unit = GpuUnit::kChain;
  GpuElement element = GpuElement::kFp32;  // of arithmetic
  GpuInstruction instruction;              // of arithmetic, not of kGemm
  Level level = Level::kDram;              // of memory
  std::string sass;  // the instruction's name in SASS, "HMMA"; empty: not our kernel
  std::string text;  // description for people
};

bool IsMemory(const GpuRow& row);

// A row's launch parameters.
struct GpuShape {
  int blocks = 0, threads = 0;
  int n = 0;                   // of kGemm
  std::int64_t set_bytes = 0;  // of memory: all arrays together; of kL1: all blocks together

  bool operator==(const GpuShape&) const = default;
};

// Properties of a GPU that the choice of shapes needs.
struct GpuSize {
  int sms = 0;
  std::int64_t l2_bytes = 0, free_bytes = 0;  // [byte]
};

// Returns the rows that a GPU of this compute capability (10 x major + minor: 90) can run. Families
// in the order in which machines are read: arithmetic, then DRAM, L2, L1. fp8 only where its
// mma.sync is not emulated (8.9, 12.x); wgmma on 9.0 alone; cublasLt as second contender wherever
// it has the type. PTX ISA 9.0, sections on mma and wgmma; cublasLt's table of supported types.
std::vector<GpuRow> GpuRows(int compute_capability);

// Returns [flop] or [byte] of one iteration of the whole launch.
double WorkPerIteration(const GpuRow& row, const GpuShape& shape);

// Returns the launches to try; the fastest is measured. One block per SM for arithmetic and L1, so
// that half the blocks are half the SMs. `flops_per_second` [flop/s] that the row may reach, for
// the size of a GEMM (about 10 ms); 0: not known. Sets in DRAM are 2 GiB and 64 L2 at least, where
// half of the free memory allows it. Sets in L2 are up to an eighth, a quarter and half of it (on
// GPUs with two L2 partitions each half may hold its own copy), and whole iterations of the
// unrolled loop.
std::vector<GpuShape> GpuShapes(const GpuRow& row, const GpuSize& gpu, double flops_per_second);

// Returns the bytes of a DRAM or L2 row's set that one iteration of its unrolled loop moves.
std::int64_t UnrolledBytes(const GpuRow& row, const GpuShape& shape);

// Returns the small launches that check a row's result. The measured grid covers small sets of DRAM
// and L2 without its unrolled loop, so a few blocks, which need that loop, come second.
std::vector<GpuShape> CheckShapes(const GpuRow& row, const GpuShape& measured);

// Returns the unread shared memory [byte] that keeps two blocks of a row off the same SM; 0: none.
int SharedToBeAlone(const GpuRow& row, int shared_bytes_per_sm);

// Returns half of the blocks: half of the SMs. Only for rows of one block per SM.
bool ScalesWithSms(const GpuRow& row);
GpuShape HalfShape(const GpuShape& shape);

}  // namespace dlroof::gpu_kernels
