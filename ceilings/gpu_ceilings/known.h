// Operands of the GPU kernels, and their expected results, by reference loops on the host. Pure.
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

// Returns the results that GpuDifference expects. For a chain, mma or wgmma row: those of one
// block, because all blocks have the same results. For a GEMM only the compared elements are set;
// for load and shared rows only the first element, the sum over all threads.
GpuBytes ExpectedResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);

}  // namespace dlroof::gpu_ceilings
