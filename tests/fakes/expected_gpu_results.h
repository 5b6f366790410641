// The rows of a GPU and the results that a sound one leaves.
#pragma once

#include <gtest/gtest.h>

#include "ceilings/gpu_ceilings/known.h"

namespace dlroof::fakes {

inline gpu_ceilings::GpuRow RowOf(int capability, const std::string& key) {
  for (const auto& row : gpu_ceilings::GpuRows(capability))
    if (row.key == key) return row;
  ADD_FAILURE() << key;
  return {};
}

// Returns results without a difference. A GEMM's has only the compared elements.
inline gpu_ceilings::GpuBytes ExpectedGpuResults(const gpu_ceilings::GpuRow& row,
                                                 const gpu_ceilings::GpuShape& shape,
                                                 std::int64_t iterations) {
  if (gpu_ceilings::IsMemory(row)) return gpu_ceilings::MemoryResults(row, shape, iterations);
  if (row.unit == gpu_ceilings::GpuUnit::kGemm) return gpu_ceilings::GemmResults(row, shape);
  const auto block = gpu_ceilings::OneBlock(row, shape, iterations);
  gpu_ceilings::GpuBytes results;
  for (int i = 0; i < shape.blocks; ++i) results.insert(results.end(), block.begin(), block.end());
  return results;
}

}  // namespace dlroof::fakes
