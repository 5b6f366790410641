// Published peak rates of GPU architectures, by which measured ceilings are validated.
#pragma once

#include <string>
#include <vector>

namespace dlroof::gpu_ceilings {

// The peak rate of a pipe or of L1 on a range of architectures.
struct GpuPeak {
  int first, last;  // range of compute capabilities, 10 x major + minor
  const char* key;  // "bf16.matrix", "l1"
  // [flop/cycle] or [byte/cycle] of one SM, without sparsity, ascending. Two values if GPUs of one
  // capability differ: consumer cards compute 16-bit products with fp32 sums at half the rate.
  std::vector<double> per_cycle;
  const char* source;
};

// Returns the table row for a compute capability and a pipe or "l1", or null if there is none.
const GpuPeak* FindGpuPeak(int compute_capability, const std::string& key);

}  // namespace dlroof::gpu_ceilings
