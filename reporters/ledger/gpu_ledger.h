// The ledger of a GPU's call, from its traced kernels. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "counters/work.h"
#include "reporters/ledger/ledger.h"

namespace dlroof {

struct GpuLedgerFacts {
  double seconds = 0;       // [s] measured time of one call
  double roof_seconds = 0;  // [s] that the binding roof asks for
  Provenance roof_from = Provenance::kModelled;
  std::string roof;                      // "arithmetic" or "DRAM"
  std::optional<double> launch_seconds;  // [s] of starting one kernel, by the ceilings
  std::vector<LevelTime> levels;         // other than the roof's
  std::vector<LaunchedKernel> kernels;   // of one call
};

// Absent where a kernel was not traced. Kernels that were traced for longer than the call takes are
// scaled to it. A kernel of w waves of blocks has work for w / ceil(w) of its time (waves: CUDA C++
// Best Practices Guide, "Thread and Block Heuristics").
std::optional<Ledger> MakeGpuLedger(const GpuLedgerFacts& facts);

}  // namespace dlroof
