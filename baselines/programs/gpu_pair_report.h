// What the tables of a pair of GPU programs have in common.
#pragma once

#include <fmt/format.h>

#include <string>

#include "baselines/programs/gpu_pair.h"
#include "reporters/document/document.h"
#include "reporters/text/text.h"

namespace dlroof::programs {

inline std::string TimeText(double seconds) { return text::WithPrefix(seconds, "s"); }

inline std::string LaunchesText(double launches) {
  return launches >= 1000 ? fmt::format("{:.0f}", launches) : fmt::format("{:.4g}", launches);
}

// Returns B's time divided by A's, or "" if one of them is 0.
inline std::string RatioText(double a_seconds, double b_seconds) {
  return a_seconds > 0 && b_seconds > 0 ? text::FixedText(b_seconds / a_seconds, 2) : "";
}

// Adds all kernels: those of both programs, then those of one. `all`: not only the first rows.
void AddKernelTables(const GpuPair& pair, bool all, document::Document& document);

}  // namespace dlroof::programs
