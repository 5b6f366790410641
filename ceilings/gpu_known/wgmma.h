// Operands and results of warpgroup-wide matrix instructions.
#pragma once

#include <cstdint>

#include "ceilings/gpu_known/elements.h"
#include "ceilings/gpu_known/rows.h"

namespace dlroof {

// Results are those of one block: every block leaves the same.
GpuBytes WgmmaOperands(const GpuRow& row, GpuOperandKind kind);
GpuBytes WgmmaResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);

}  // namespace dlroof
