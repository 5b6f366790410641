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
  const auto expected = gpu_kernels::ExpectedResults(row, shape, iterations);
  const auto bytes = static_cast<std::size_t>(gpu_kernels::GpuResultBytes(row, shape));
  gpu_kernels::GpuBytes results;
  while (results.size() < bytes)  // a block's results repeat
    results.insert(results.end(), expected.begin(), expected.end());
  return results;
}

}  // namespace dlroof::fakes
