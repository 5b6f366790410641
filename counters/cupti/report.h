// Values of NVIDIA's counters to FLOPs by pipe and bytes by level. Pure.
//
// Words for a count of CUPTI's: how it was made, its kernels with their waves, and the table of
// counters. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/cupti/api.h"
#include "counters/cupti/session.h"
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
  std::vector<std::string> caveats;            // a sentence each
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

// Room of a GPU.
struct GpuFreeMemory {
  int capability = 0;              // 10 x major + minor
  int sms = 0;                     // [1]
  double shared_bytes_per_sm = 0;  // [byte]
};

// Returns [1] the launch's blocks over those that the GPU holds at once: above 1 the rest waits,
// and a last wave that is not full leaves SMs idle. Absent: a capability that is not known, or a
// block that does not fit.
std::optional<double> Waves(const KernelFacts& kernel, const GpuFreeMemory& gpu);

struct CuptiReading {
  const std::string& chip;
  const CuptiPlan& plan;
  const CuptiCounts& counts;
  int runs = 0;                // [1] under counting
  double plain_seconds = 0;    // [s] the shortest run that was not counted
  double counted_seconds = 0;  // [s] the shortest run that was
};

// One line: passes, slow-down, what is in L1's bytes, the device's own dense tensor peaks, what was
// not counted and why.
std::string HowCounted(const CuptiReading& reading);

// Adds up launches by KernelName, the kernel with the most time first.
std::vector<LaunchedKernel> LaunchedKernels(const std::vector<TracedKernel>& traced,
                                            const std::optional<GpuFreeMemory>& gpu);

// A kernel's name as its author wrote it, without return type and parameters where they can be
// told, at most 80 columns.
std::string KernelName(const std::string& symbol);

// The table for people: chips with their passes ("" for `chip`), or one chip's metrics. Throws
// BadInput for a chip that is not there, listing those that are.
std::string CountersText(const CuptiTable& table, const StoredPasses& passes,
                         const std::string& chip);

}  // namespace dlroof::cupti
