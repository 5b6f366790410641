// Operands of the GPU kernels and the results that they must leave, by plain loops on the host.
// Pure.
//
// Layouts, shared with the kernels. `slot` arrays hold a value per thread of a block: element
// [slot * threads + thread], the same for every block; results hold [(block * slots + slot) *
// threads + thread].
//   chain    operands: a, b, then a start value per chain; results: a value per chain, of
//            v * v + b in floating point, v + a . b in integers
//   mma      operands: registers of A, of B per chain, then accumulators per chain; results:
//            accumulators per chain. Registers hold elements as PTX ISA lays out fragments.
//   wgmma    operands: kWgmmaTiles images of A (64 rows) and B (256 columns) for shared memory, 32
//            byte of k each, in core matrices of 8 rows x 16 byte; results: accumulators
//   GEMM     operands: A, B, each n rows of k; results: D by columns
//   memory   operands: what is read (load: all; copy: a; triad: b, c); results: load and shared: a
//            32-bit sum per thread; others: what was written
//
// Operands and results of each family of kernels, among which known.h chooses. Results of chains
// and matrix instructions are those of one block: every block leaves the same.
#pragma once

#include <cstdint>
#include <string>

#include "ceilings/gpu_kernels/elements.h"
#include "ceilings/gpu_kernels/rows.h"

namespace dlroof::gpu_kernels {

// Returns the row's operands. Throws std::invalid_argument for a timed memory row: there the device
// itself writes random words.
GpuBytes GpuOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind);

std::int64_t GpuOperandBytes(const GpuRow& row, const GpuShape& shape);
std::int64_t GpuResultBytes(const GpuRow& row, const GpuShape& shape);

// Returns a sentence about the first difference between `results` and those that the kernel must
// leave after `iterations` from known operands. Empty: no difference. Compares all bytes, but only
// 256 elements of a GEMM, its corners among them. Throws std::invalid_argument for another number
// of bytes.
std::string GpuDifference(const GpuRow& row, const GpuShape& shape, std::int64_t iterations,
                          const GpuBytes& results);

// Returns the results of one block of an arithmetic row.
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

// Library matrix products. One call leaves the same results as many calls.
GpuBytes GemmOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind);
GpuBytes GemmResults(const GpuRow& row, const GpuShape& shape);
std::string GemmDifference(const GpuRow& row, const GpuShape& shape, const GpuBytes& results);
GpuElement GemmResultElement(GpuElement element);

// Memory.
GpuBytes MemoryOperands(const GpuRow& row, const GpuShape& shape);
GpuBytes MemoryResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);
std::int64_t MemoryOperandBytes(const GpuRow& row, const GpuShape& shape);
std::int64_t MemoryResultBytes(const GpuRow& row, const GpuShape& shape);
std::string SumDifference(const GpuRow& row, const GpuShape& shape, std::int64_t iterations,
                          const GpuBytes& results);

}  // namespace dlroof::gpu_kernels
