// Operands and results of library matrix products.
#pragma once

#include <string>

#include "ceilings/gpu_known/elements.h"
#include "ceilings/gpu_known/rows.h"

namespace dlroof {

// One call leaves the same results as many calls.
GpuBytes GemmOperands(const GpuRow& row, const GpuShape& shape, GpuOperandKind kind);
GpuBytes GemmResults(const GpuRow& row, const GpuShape& shape);
std::string GemmDifference(const GpuRow& row, const GpuShape& shape, const GpuBytes& results);
GpuElement GemmResultElement(GpuElement element);

}  // namespace dlroof
