// Operands and results of warp-wide matrix instructions.
#pragma once

#include <cstdint>

#include "ceilings/gpu_known/elements.h"
#include "ceilings/gpu_known/rows.h"

namespace dlroof {

// Results are those of one block: every block leaves the same.
GpuBytes MmaOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind);
GpuBytes MmaResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);
std::int64_t MmaOperandBytes(const GpuRow& row, const GpuShape& shape);
std::int64_t MmaResultBytes(const GpuRow& row, const GpuShape& shape);  // of one block

}  // namespace dlroof
