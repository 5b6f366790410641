// Values of NVIDIA's counters to FLOPs by pipe and bytes by level. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/cupti/table.h"
#include "counters/work.h"

namespace dlroof::cupti {

// Decoded counters of one run of a call.
struct CuptiCounts {
  Work work;  // launches are not the counters' to tell
  // [s] GPU time under counting, from the first kernel's begin to the last one's end.
  std::optional<double> seconds;
  std::optional<double> clock_hz;              // [1/s] SM clock under counting
  std::map<std::string, double> tensor_peaks;  // [flop/s] dense, at that clock, by pipe
  std::map<std::string, double> details;       // [byte] "shared", "dram.read", "l2.slices", ...
  std::vector<std::string> doubts;             // a sentence each
};

// `values` by metric name, `metrics` those that were read; `pipes` of the call decide whether the
// half-precision instructions of the vector units, which one counter counts, are fp16 or bf16.
// Levels: L1 is its tag stage and shared memory together (one memory, one data path), absent where
// one of them is; L2 is what the SMs exchange with it; DRAM both ways; host PCIe where it was
// read, else what kernels touched of the host's memory.
// Half-precision instructions that are less than 0.1 % of all FLOPs of a call that is not known to
// use them only load constants: they are no work.
// A value that is missing, negative or not finite makes its quantity absent, and a doubt.
CuptiCounts DecodeCounters(const std::vector<CuptiMetric>& metrics,
                           const std::map<std::string, double>& values,
                           const std::vector<std::string>& pipes);

}  // namespace dlroof::cupti
