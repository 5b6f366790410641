// The rows of a GPU and the results that a sound one leaves.
#pragma once

#include <gtest/gtest.h>

#include "ceilings/gpu_kernels/known.h"

namespace dlroof::fakes {

inline gpu_kernels::GpuRow RowOf(int capability, const std::string& key) {
  for (const auto& row : gpu_kernels::GpuRows(capability))
    if (row.key == key) return row;
  ADD_FAILURE() << key;
  return {};
}

// Returns results without a difference. A GEMM's has only the compared elements.
inline gpu_kernels::GpuBytes ExpectedGpuResults(const gpu_kernels::GpuRow& row,
                                                const gpu_kernels::GpuShape& shape,
                                                std::int64_t iterations) {
  if (gpu_kernels::IsMemory(row)) return gpu_kernels::MemoryResults(row, shape, iterations);
  if (row.unit == gpu_kernels::GpuUnit::kGemm) return gpu_kernels::GemmResults(row, shape);
  const auto block = gpu_kernels::OneBlock(row, shape, iterations);
  gpu_kernels::GpuBytes results;
  for (int i = 0; i < shape.blocks; ++i) results.insert(results.end(), block.begin(), block.end());
  return results;
}

}  // namespace dlroof::fakes
