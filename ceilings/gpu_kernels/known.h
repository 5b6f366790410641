// Operands of the GPU kernels and their expected results, computed by plain loops on the host.
// Pure.
//
// The kernels use the same layouts. Arithmetic operands have slots with one value per thread of a
// block, [slot * threads + thread], which all blocks share; their results are [(block * slots +
// slot)
// * threads + thread].
//   chain    operands: a, b, then a start value per chain; results: a value per chain, of
//            v * v + b in floating point, v + a . b in integers
//   mma      operands: registers of A, of B per chain, then accumulators per chain; results:
//            accumulators per chain. Registers have elements in the order of PTX ISA's fragments.
//   wgmma    operands: kWgmmaTiles images of A (64 rows) and B (256 columns) for shared memory, 32
//            byte of k each, in core matrices of 8 rows x 16 byte; results: accumulators
//   GEMM     operands: A and B, each n rows of k; results: D by columns
//   memory   operands: the arrays that are read (load: the set; copy: a; triad: b, c); results of
//            load and shared: a 32-bit sum per thread; of the others: the array that is written
#pragma once

#include <cstdint>
#include <optional>

#include "ceilings/gpu_kernels/elements.h"
#include "ceilings/gpu_kernels/rows.h"
#include "counters/base/error.h"

namespace dlroof::gpu_kernels {

// Returns the row's operands. Throws std::invalid_argument for random operands of a memory row,
// which the device writes itself.
GpuBytes GpuOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind);

std::int64_t GpuOperandBytes(const GpuRow& row, const GpuShape& shape);
std::int64_t GpuResultBytes(const GpuRow& row, const GpuShape& shape);

// Compares `results` with the expected results of `iterations` on known operands and returns the
// first difference. Compares all bytes, but only 256 elements of a GEMM, including its corners.
// Throws std::invalid_argument if the number of bytes is wrong.
std::optional<Reason> GpuDifference(const GpuRow& row, const GpuShape& shape,
                                    std::int64_t iterations, const GpuBytes& results);

// ---- The functions above call these for each family of kernels. ----

// Returns the results of one block of a chain or a matrix instruction; all blocks have the same.
GpuBytes OneBlock(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);

// Chains of dependent steps.
GpuBytes ChainOperands(const GpuRow& row, const GpuShape& shape);
GpuBytes ChainResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);
int ChainRegisterBytes(GpuElement element);

// Warp-wide matrix instructions.
GpuBytes MmaOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind);
GpuBytes MmaResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);
std::int64_t MmaOperandBytes(const GpuRow& row, const GpuShape& shape);
std::int64_t MmaResultBytes(const GpuRow& row, const GpuShape& shape);

// Warpgroup-wide matrix instructions.
GpuBytes WgmmaOperands(const GpuRow& row, GpuOperandKind kind);
GpuBytes WgmmaResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);

// Library matrix products. The results do not depend on the number of calls.
GpuBytes GemmOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind);
GpuBytes GemmResults(const GpuRow& row, const GpuShape& shape);
std::optional<Reason> GemmDifference(const GpuRow& row, const GpuShape& shape,
                                     const GpuBytes& results);
GpuElement GemmResultElement(GpuElement element);

// Memory.
GpuBytes MemoryOperands(const GpuRow& row, const GpuShape& shape);
GpuBytes MemoryResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);
std::int64_t MemoryOperandBytes(const GpuRow& row, const GpuShape& shape);
std::int64_t MemoryResultBytes(const GpuRow& row, const GpuShape& shape);
std::optional<Reason> SumDifference(const GpuRow& row, const GpuShape& shape,
                                    std::int64_t iterations, const GpuBytes& results);

}  // namespace dlroof::gpu_kernels
