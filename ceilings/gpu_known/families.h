// Operands and results of each family of kernels, among which known.h chooses. Results of chains
// and matrix instructions are those of one block: every block leaves the same.
#pragma once

#include <string>

#include "ceilings/gpu_known/elements.h"

namespace dlroof::gpu_kernels {

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
