// Chooses a chip's counters for one call, and the number of its runs. Pure: the caller passes in
// the question to CUPTI's host API for passes (no GPU needed).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "counters/cupti/table.h"

namespace dlroof::cupti {

// Passes that these metrics take together; absent when the chip or this device refuses one.
using PassesOf = std::function<std::optional<int>(const std::vector<std::string>& metrics)>;

struct CuptiWish {
  int most_passes = 3;      // [1] runs of the call, at most
  bool every_type = false;  // tensor operations of all types, not just of the call's
  bool link = false;        // PCIe as well, in runs of its own
  bool patched = true;      // sets that patch kernels, too
};

// Metrics that CUPTI collects together.
struct CuptiConfig {
  std::vector<std::string> metrics;
  int passes = 0;                 // [1] that CUPTI asks for
  std::vector<std::string> free;  // those of `metrics` that the count can do without
  bool alone = false;             // as a whole something that the count can do without
};

struct CuptiPlan {
  std::vector<CuptiConfig> configs;
  std::vector<CuptiMetric> metrics;  // all that are read, and what each adds to
  // Sets that are not read although they were asked for, and why: "l1: would take a 4th pass".
  struct LeftOut {
    std::string set, reason;
  };
  std::vector<LeftOut> left_out;
  int passes = 0;  // [1] of all configs
};

// Types of the tensor operations that a call on `pipes` may use, the best first: those of its
// matrix pipes; without one, the sibling of its vector pipe, so that an "fp32" call that runs in
// tf32 is found out.
std::vector<std::string> TensorTypesOf(const std::vector<std::string>& pipes);

// Sets get room in the table's order, those of `types` in theirs. A set that the chip lacks, that
// this device refuses or that does not fit is left out with its reason; a free one silently.
CuptiPlan PlanCounters(const CuptiTable& table, const CuptiChip& chip,
                       const std::vector<std::string>& types, const CuptiWish& wish,
                       const PassesOf& passes_of);

}  // namespace dlroof::cupti
