// The rows of a GPU and the results that a sound one leaves.
#pragma once

#include <gtest/gtest.h>

#include "ceilings/gpu_ceilings/bench.h"

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
  const auto expected = gpu_ceilings::ExpectedResults(row, shape, iterations);
  const auto bytes = static_cast<std::size_t>(gpu_ceilings::GpuResultBytes(row, shape));
  gpu_ceilings::GpuBytes results;
  while (results.size() < bytes)  // a block's results repeat
    results.insert(results.end(), expected.begin(), expected.end());
  return results;
}

}  // namespace dlroof::fakes
