// Operands of the GPU kernels, and their expected results, computed by reference loops on the host.
// Pure.
//
// Operand and result arrays of each family of kernels (GpuUnit). A slot has one value per thread of
// a block: operand[slot * threads + thread], shared by all blocks;
// result[(block * slots + slot) * threads + thread].
//   chain    operands: slot 0: a, slot 1: b, then a start value per chain; results: per chain v
//            after v = v * v + b in floating point or v = v + dot(a, b) in integers
//   mma      operands: registers of A, of B per chain, then accumulators per chain; results:
//            accumulators per chain. Registers have elements in the order of PTX ISA's fragments.
//   wgmma    operands: kWgmmaTiles images of A (64 rows) and B (256 columns) for shared memory, 32
//            byte of k each, in core matrices of 8 rows x 16 byte; results: accumulators
//   GEMM     operands: A and B, each n rows of k; results: D by columns
//   memory   operands: the arrays that are read (load: one; copy: a; triad: b, c); results of load
//            and shared: a 32-bit sum per thread; of the others: the array that is written
#pragma once

#include <cstdint>
#include <optional>

#include "ceilings/gpu_ceilings/elements.h"
#include "ceilings/gpu_ceilings/rows.h"
#include "counters/base/error.h"

namespace dlroof::gpu_ceilings {

// Returns the row's operands as bytes. Throws std::invalid_argument for random operands of a memory
// row, which the device itself generates.
GpuBytes GpuOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind);

std::int64_t GpuOperandBytes(const GpuRow& row, const GpuShape& shape);
std::int64_t GpuResultBytes(const GpuRow& row, const GpuShape& shape);

// Returns the first difference between `results` and the expected results of `iterations`
// iterations on known operands, if they differ. Compares all bytes, but only 256 elements of a
// GEMM, including its corners. Throws std::invalid_argument if the number of bytes is wrong.
std::optional<Reason> GpuDifference(const GpuRow& row, const GpuShape& shape,
                                    std::int64_t iterations, const GpuBytes& results);

// ---- implementations of the functions above for each family of kernels ----

// Returns the results of one block of a chain, mma or wgmma row; all blocks have the same results.
GpuBytes OneBlock(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);

// GpuUnit::kChain: chains of dependent multiply-adds.
GpuBytes ChainOperands(const GpuRow& row, const GpuShape& shape);
GpuBytes ChainResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);
int ChainRegisterBytes(GpuElement element);

// GpuUnit::kMma: matrix instructions of a warp.
GpuBytes MmaOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind);
GpuBytes MmaResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);
std::int64_t MmaOperandBytes(const GpuRow& row, const GpuShape& shape);
std::int64_t MmaResultBytes(const GpuRow& row, const GpuShape& shape);

// GpuUnit::kWgmma: matrix instructions of a warpgroup.
GpuBytes WgmmaOperands(const GpuRow& row, GpuOperandKind kind);
GpuBytes WgmmaResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);

// GpuUnit::kGemm: cublasLt. The results do not depend on the number of iterations.
GpuBytes GemmOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind);
GpuBytes GemmResults(const GpuRow& row, const GpuShape& shape);
std::optional<Reason> GemmDifference(const GpuRow& row, const GpuShape& shape,
                                     const GpuBytes& results);
GpuElement GemmResultElement(GpuElement element);

// The memory units: kLoad, kShared, kStore, kCopy, kTriad.
GpuBytes MemoryOperands(const GpuRow& row, const GpuShape& shape);
GpuBytes MemoryResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);
std::int64_t MemoryOperandBytes(const GpuRow& row, const GpuShape& shape);
std::int64_t MemoryResultBytes(const GpuRow& row, const GpuShape& shape);
std::optional<Reason> SumDifference(const GpuRow& row, const GpuShape& shape,
                                    std::int64_t iterations, const GpuBytes& results);

}  // namespace dlroof::gpu_ceilings
