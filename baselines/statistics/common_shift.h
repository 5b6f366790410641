// A whole run that moved the same way by about the same factor: one cause, not one per benchmark.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlroof {

// One benchmark's movement from BASE to NEW, in logarithms.
struct Movement {
  double log_ratio = 0;  // [1] of its seconds
  double deviation = 0;  // [1] standard error of log_ratio, run noise included
  // [1] of its roof time, where each run measured its own ceilings; absent: no such evidence
  std::optional<double> roof_log_ratio;
};

// Evidence from the ceilings that each run measured.
enum class RoofEvidence { kNone, kMovedToo, kDidNotMove };

struct CommonShift {
  double log_ratio = 0;              // [1] median over the benchmarks
  std::pair<double, double> middle;  // [1] quartiles of their log ratios
  int same_way = 0, benchmarks = 0;  // [1] those on the median's side, all
  RoofEvidence roofs = RoofEvidence::kNone;
  std::optional<double> roof_log_ratio;  // [1] median, with evidence
};

// Present when at least 90 % of at least 10 benchmarks moved the same way, and at
// least 90 % lie within 2 deviations + `tolerance` [1, logarithm] of their median.
std::optional<CommonShift> FindCommonShift(const std::vector<Movement>& movements,
                                           double tolerance);

// One line for people: how many, by what factor, and what the ceilings say of the cause.
std::string Describe(const CommonShift& common);

}  // namespace dlroof
