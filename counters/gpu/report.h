// Converts the values of NVIDIA's counters to FLOPs by pipe and bytes by level. Describes for the
// user how a call was counted, and its kernels. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "counters/base/work.h"
#include "counters/gpu/api.h"
#include "counters/gpu/session.h"
#include "counters/gpu/table.h"

namespace dlroof::gpu {

// Quantities of one run of a call, computed from counters.
struct CuptiCounts {
  Work work;                              // without launches, for which there is no counter
  std::optional<double> seconds;          // [s] from the first kernel's begin to the last one's end
  std::optional<double> clock_hz;         // [1/s] SM clock while counting
  std::map<std::string, double> details;  // [byte] "shared", "dram.read", "l2.slices", ...
  std::map<std::string, double> instructions;  // [1] of warps, "tensor.imma", "tensor.hfma2", ...
  std::vector<std::string> caveats;            // one sentence each
};

// Converts the `values` (by metric name) of the read `metrics`. `pipes`: pipes of the call.
// - One counter counts fp16 and bf16 instructions of the vector units; `pipes` distinguishes them.
// - If half-precision instructions are less than 0.1 % of all FLOPs, they only load constants and
//   are not counted as work, unless `pipes` has a half-precision vector pipe.
// - L1 bytes are those of its tag stage plus shared memory (one memory with one data path).
// - L2 bytes are the traffic between SMs and L2. DRAM bytes are reads plus writes.
// - Host bytes are those of PCIe if that was read, otherwise the kernels' accesses to host memory.
// - A value that is missing, negative or not finite leaves its quantity out, with a caveat.
CuptiCounts DecodeCounters(const std::vector<CuptiMetric>& metrics,
                           const std::map<std::string, double>& values,
                           const std::vector<std::string>& pipes);

// Decides for each pipe whose FLOPs the plan does not read whether it worked, by the counted tensor
// instructions. Sets 0 FLOPs if none of its instructions was executed. If it certainly worked,
// removes all FLOPs, which would be incomplete, and adds a caveat. Returns the undecided pipes.
std::vector<std::string> CheckUnreadPipes(const std::vector<std::string>& unread_pipes,
                                          CuptiCounts& counts);

// Resources that limit how many blocks run on the GPU at once.
struct GpuCapacity {
  int capability = 0;              // compute capability, 10 * major + minor
  int sms = 0;                     // [1]
  double shared_bytes_per_sm = 0;  // [byte]
};

// Returns the waves [1] of a launch: its blocks / the blocks that fit on the GPU at once. A partial
// last wave leaves SMs idle. Returns nullopt for an unknown compute capability or a block that does
// not fit on an SM.
std::optional<double> Waves(const KernelFacts& kernel, const GpuCapacity& gpu);

struct CuptiReading {
  const std::string& chip;
  const CuptiPlan& plan;
  const CuptiCounts& counts;
  std::vector<std::string> unknown_pipes;  // from CheckUnreadPipes
  int runs = 0;                            // [1] runs with counting
  double plain_seconds = 0;                // [s] of the shortest run without counting
  double counted_seconds = 0;              // [s] of the shortest run with counting
};

// Returns one line for the user: passes, slowdown by counting, shares of bytes, pipes whose FLOPs
// are unknown, and what was not counted with the reasons.
std::string HowCounted(const CuptiReading& reading);

// Merges launches with the same name and facts, in the order of their first appearance. Adds up
// their `launches`, and their `seconds` if all have a time.
std::vector<LaunchedKernel> MergedLaunches(std::vector<LaunchedKernel> launches);

// Returns the kernels, the longest time first. Merges launches with the same KernelName and facts.
std::vector<LaunchedKernel> LaunchedKernels(const std::vector<TracedKernel>& traced,
                                            const std::optional<GpuCapacity>& gpu);

// Returns a kernel's demangled name without its parameters.
std::string KernelName(const std::string& symbol);

// Returns the names of all chips, separated by commas.
std::string ChipNames(const CuptiTable& table);

}  // namespace dlroof::gpu
