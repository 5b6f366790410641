// Peak rates per SM and cycle by compute capability, with sources. Measured ceilings are compared
// with them.
#pragma once

#include <string>
#include <vector>

namespace dlroof::gpu_ceilings {

// The peak of one pipe, or of the L1 ("l1": byte/cycle).
struct GpuPeak {
  int first, last;  // compute capabilities, 10 x major + minor
  const char* key;  // "bf16.matrix", "l1"
  // [flop/cycle] or [byte/cycle] of one SM, dense, ascending. Two where products of one capability
  // differ: consumer cards run 16-bit products with fp32 sums at half of the rate.
  std::vector<double> per_cycle;
  const char* source;
};

// Returns null where the table has none: then it judges nothing.
const GpuPeak* FindGpuPeak(int compute_capability, const std::string& key);

}  // namespace dlroof::gpu_ceilings
