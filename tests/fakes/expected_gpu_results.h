// The rows of a GPU and the results that a sound one leaves.
#pragma once

#include <gtest/gtest.h>

#include "ceilings/gpu_known/families.h"
#include "ceilings/gpu_known/known.h"

namespace dlroof {

inline GpuRow RowOf(int capability, const std::string& key) {
  for (const auto& row : GpuRows(capability))
    if (row.key == key) return row;
  ADD_FAILURE() << key;
  return {};
}

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
