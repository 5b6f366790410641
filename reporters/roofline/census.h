// Kernels that execute no FLOPs stand on no roofline, yet take time: how many there are, and how
// long they run (the zero-AI kernels of the hierarchical roofline paper). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reporters/record/record.h"

namespace dlroof {

// The records of one set: what stands before the first slash of their names, or all of a file whose
// names have none.
struct Census {
  std::string set;
  double seconds = 0;                        // [s] of all kernels
  double zero_flop_seconds = 0;              // [s] of those without FLOPs
  int kernels = 0;                           // [1] names
  int zero_flop_kernels = 0;                 // [1] names
  std::optional<double> launches;            // [1]; absent when one of them is not known
  std::optional<double> zero_flop_launches;  // [1]
  double flops = 0;                          // [flop] executed
  double matrix_flops = 0;                   // [flop] of these by matrix units
};

// A census of each set, in order of appearance, in which a kernel executed no FLOPs; records
// without a time or whose FLOPs are not known are left out.
std::vector<Census> TakeCensus(const std::vector<Record>& records);

double ZeroFlopTimeShare(const Census& census);  // [1]
double FlopsPerSecond(const Census& census);     // [flop/s]
// [1] Absent where it is not known.
std::optional<double> ZeroFlopLaunchShare(const Census& census);
std::optional<double> MatrixShare(const Census& census);

}  // namespace dlroof
