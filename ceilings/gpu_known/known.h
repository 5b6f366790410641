// What GPU kernels are fed, and what they must leave: computed by plain loops on the host. Pure.
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
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ceilings/gpu_known/rows.h"

namespace dlroof {

using GpuBytes = std::vector<std::byte>;

// kKnown: results are exact in every order of additions. kRandom: what is timed, as much switching
// as the type has (data of zeros take less power and clock higher).
enum class GpuOperandKind { kKnown, kRandom };

// Throws std::invalid_argument for a row whose operands are random words laid by the device itself
// (memory that is timed).
GpuBytes GpuOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind);

std::int64_t GpuOperandBytes(const GpuRow& row, const GpuShape& shape);
std::int64_t GpuResultBytes(const GpuRow& row, const GpuShape& shape);

// Empty when `results` are what the kernel must leave after `iterations` from known operands; else
// a sentence about the first difference. All bytes are compared; of a GEMM 256 elements, the
// corners among them. Throws std::invalid_argument for another number of bytes.
std::string GpuDifference(const GpuRow& row, const GpuShape& shape, std::int64_t iterations,
                          const GpuBytes& results);

// Results that have no difference; for tests, and for a GEMM only the elements that are compared.
GpuBytes ExpectedGpuResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);

// What a store leaves in every 32-bit word after `iterations` passes: each writes another value.
std::uint32_t StoredWord(std::int64_t iterations);

}  // namespace dlroof
