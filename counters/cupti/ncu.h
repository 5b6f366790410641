// Nsight Compute as another reader of the same counters: its command line, and its refusals as
// sentences. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/cupti/table.h"

namespace dlroof::cupti {

// The metrics of a chip's sets that make time, FLOPs and bytes; without the free ones, and without
// PCIe's, which share no configuration with the others.
std::vector<std::string> NcuMetrics(const CuptiTable& table, const CuptiChip& chip);

struct NcuChoice {
  std::string program = "ncu";
  std::string kernels;          // regular expression; empty: all
  int skip = 0;                 // [1] launches that come first
  std::optional<int> launches;  // [1] that are profiled; absent: all
  std::string table;            // file that it writes
};

// Caches and clocks stay as the program has them: ncu itself would empty the one and lock the
// other.
std::vector<std::string> NcuCommand(const NcuChoice& choice,
                                    const std::vector<std::string>& metrics,
                                    const std::vector<std::string>& command);

// Returns why ncu made no table, and the cure, in one sentence. `said` is all that it wrote.
std::string WhyNoNcuTable(std::string_view said, int exit_code);

}  // namespace dlroof::cupti
