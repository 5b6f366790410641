// Operands and results of the memory kernels.
#pragma once

#include <cstdint>
#include <string>

#include "ceilings/gpu_known/elements.h"
#include "ceilings/gpu_known/rows.h"

namespace dlroof {

GpuBytes MemoryOperands(const GpuRow& row, const GpuShape& shape);
GpuBytes MemoryResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);
std::int64_t MemoryOperandBytes(const GpuRow& row, const GpuShape& shape);
std::int64_t MemoryResultBytes(const GpuRow& row, const GpuShape& shape);
std::string SumDifference(const GpuRow& row, const GpuShape& shape, std::int64_t iterations,
                          const GpuBytes& results);

}  // namespace dlroof
