// Results that a sound GPU leaves.
#pragma once

#include "ceilings/gpu_known/families.h"
#include "ceilings/gpu_known/known.h"

namespace dlroof {

// Returns results without a difference. A GEMM's has only the compared elements.
inline GpuBytes ExpectedGpuResults(const GpuRow& row, const GpuShape& shape,
                                   std::int64_t iterations) {
  if (IsMemory(row)) return MemoryResults(row, shape, iterations);
  if (row.unit == GpuUnit::kGemm) return GemmResults(row, shape);
  const auto block = OneBlock(row, shape, iterations);
  GpuBytes results;
  for (int i = 0; i < shape.blocks; ++i) results.insert(results.end(), block.begin(), block.end());
  return results;
}

}  // namespace dlroof
