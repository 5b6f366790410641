// Operands and results of the chains of dependent steps.
#pragma once

#include <cstdint>

#include "ceilings/gpu_known/elements.h"
#include "ceilings/gpu_known/rows.h"

namespace dlroof {

// Results are those of one block: every block leaves the same.
GpuBytes ChainOperands(const GpuRow& row, const GpuShape& shape);
GpuBytes ChainResults(const GpuRow& row, const GpuShape& shape, std::int64_t iterations);
int ChainRegisterBytes(GpuElement element);

}  // namespace dlroof
