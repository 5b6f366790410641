// Converts the values of NVIDIA's counters to FLOPs by pipe and bytes by level, and describes a
// count: how it was made, its kernels with their waves, the table of counters. Pure.
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
  Work work;                                   // without launches, which no counter has
  std::optional<double> seconds;               // [s] first kernel's begin to last kernel's end
  std::optional<double> clock_hz;              // [1/s] SM clock under counting
  std::map<std::string, double> tensor_peaks;  // [flop/s] dense, at that clock, by pipe
  std::map<std::string, double> details;       // [byte] "shared", "dram.read", "l2.slices", ...
  std::vector<std::string> caveats;            // a sentence each
};

// `values` are by metric name, `metrics` are those that were read. One counter counts the vector
// units' fp16 and bf16 instructions; the call's `pipes` decide which of the two they are.
// Bytes: L1 is its tag stage plus shared memory (one memory with one data path) and needs both; L2
// is the traffic between SMs and L2; DRAM is both directions; host is PCIe if that was read,
// otherwise the kernels' accesses to host memory.
// Half-precision instructions of less than 0.1 % of all FLOPs, in a call that is not known to use
// them, only load constants and are not counted as work.
// A value that is missing, negative or not finite leaves its quantity out, with a caveat.
CuptiCounts DecodeCounters(const std::vector<CuptiMetric>& metrics,
                           const std::map<std::string, double>& values,
                           const std::vector<std::string>& pipes);

// Resources of a GPU that limit the resident blocks.
struct GpuCapacity {
  int capability = 0;              // 10 x major + minor
  int sms = 0;                     // [1]
  double shared_bytes_per_sm = 0;  // [byte]
};

// [1] Returns the launch's blocks over the blocks that fit on the GPU at once. Above 1 blocks wait,
// and a partial last wave leaves SMs idle. Returns nullopt for an unknown compute capability or a
// block that does not fit.
std::optional<double> Waves(const KernelFacts& kernel, const GpuCapacity& gpu);

struct CuptiReading {
  const std::string& chip;
  const CuptiPlan& plan;
  const CuptiCounts& counts;
  int runs = 0;                // [1] under counting
  double plain_seconds = 0;    // [s] of the shortest run without counting
  double counted_seconds = 0;  // [s] of the shortest run under counting
};

// Returns one line: passes, slowdown, shares of bytes, the dense tensor peaks that the device
// reports, and what was not counted with the reasons.
std::string HowCounted(const CuptiReading& reading);

// Adds up launches with the same KernelName and facts. The kernel with the most time comes first.
std::vector<LaunchedKernel> LaunchedKernels(const std::vector<TracedKernel>& traced,
                                            const std::optional<GpuCapacity>& gpu);

// Returns a kernel's demangled name, without return type and parameters if they are recognized, in
// at most 80 columns.
std::string KernelName(const std::string& symbol);

// Returns the table of all chips with their passes for an empty `chip`, otherwise the metrics of
// that chip. Throws BadInput for an unknown chip, with the list of chips.
std::string CountersText(const CuptiTable& table, const StoredPasses& passes,
                         const std::string& chip);

}  // namespace dlroof::cupti
