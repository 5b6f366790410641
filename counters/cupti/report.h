// Words for a count of CUPTI's: how it was made, its kernels with their waves, and the table of
// counters. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "counters/cupti/api.h"
#include "counters/cupti/decode.h"
#include "counters/cupti/plan.h"

namespace dlroof::cupti {

// Room of a GPU.
struct GpuRoom {
  int capability = 0;              // 10 x major + minor
  int sms = 0;                     // [1]
  double shared_bytes_per_sm = 0;  // [byte]
};

// Returns [1] the launch's blocks over those that the GPU holds at once: above 1 the rest waits,
// and a last wave that is not full leaves SMs idle. Absent: a capability that is not known, or a
// block that does not fit.
std::optional<double> Waves(const KernelFacts& kernel, const GpuRoom& gpu);

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
                                            const std::optional<GpuRoom>& gpu);

// A kernel's name as its author wrote it, without return type and parameters where they can be
// told, at most 80 columns.
std::string KernelName(const std::string& symbol);

// The table for people: chips with their passes ("" for `chip`), or one chip's metrics. Throws
// BadInput for a chip that is not there, listing those that are.
std::string CountersText(const CuptiTable& table, const StoredPasses& passes,
                         const std::string& chip);

}  // namespace dlroof::cupti
