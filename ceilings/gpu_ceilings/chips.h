// Peak rates per SM and cycle by compute capability, with sources, for the validation of ceilings.
#pragma once

#include <string>
#include <vector>

namespace dlroof::gpu_ceilings {

// The peak of a pipe or of L1.
struct GpuPeak {
  int first, last;  // compute capabilities, 10 x major + minor
  const char* key;  // "bf16.matrix", "l1"
  // [flop/cycle] or [byte/cycle] of one SM, dense, ascending. Two values if products of the same
  // capability differ: consumer cards run 16-bit products with fp32 sums at half the rate.
  std::vector<double> per_cycle;
  const char* source;
};

// Returns the peak, or null if it is not in the table.
const GpuPeak* FindGpuPeak(int compute_capability, const std::string& key);

}  // namespace dlroof::gpu_ceilings
