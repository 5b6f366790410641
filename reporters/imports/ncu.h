// Converts Nsight Compute's counters to FLOPs, bytes and time, for all versions since 2020.1.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "counters/work.h"

namespace dlroof::imports {

// Counters of one launch, or sums over launches, in base units (s, byte, 1/s, 1).
using MetricValues = std::map<std::string, double, std::less<>>;

// Returns whether this reader uses the metric.
bool IsKnownMetric(std::string_view name);

// Returns the factor from a unit of Nsight Compute to base units: "Kbyte" 1000, "usecond" 1e-6,
// "cycle/nsecond" 1e9, "inst" 1. Returns nothing for an unknown unit.
std::optional<double> UnitFactor(std::string_view unit);

// Returns the time of one launch [s]: gpu__time_duration, else cycles divided by cycles per second,
// as in the hierarchical roofline papers.
std::optional<double> LaunchSeconds(const MetricValues& values);

// FLOPs and bytes of one kernel launch, by the first recipe of each pipe or level whose counters
// are all present. Without such a recipe the map has no entry.
struct LaunchWork {
  std::map<std::string, double> flops;  // [flop] by pipe
  std::map<Level, double> bytes;        // [byte]
  // True if tensor core instructions ran whose FLOPs are unknown. On Volta each has 512 FLOPs
  // (NERSC's recipe); other GPUs need the counters sm__ops_path_tensor_*.
  bool tensor_unknown = false;
};
LaunchWork WorkOfLaunch(const MetricValues& values, bool volta);

}  // namespace dlroof::imports
