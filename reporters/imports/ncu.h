// Nsight Compute's counters as FLOPs, bytes and time: the names of every version since 2020.1.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "counters/work.h"

namespace dlroof::imports {

// Counters of one launch, or sums over launches, in base units (s, byte, 1/s, 1).
using MetricValues = std::map<std::string, double, std::less<>>;

// Returns whether one of the tables uses the metric.
bool IsKnownMetric(std::string_view name);

// Returns the factor from a unit of Nsight Compute to base units: "Kbyte" 1000, "usecond" 1e-6,
// "cycle/nsecond" 1e9, "inst" 1. Returns nothing for an unknown unit.
std::optional<double> UnitFactor(std::string_view unit);

// Returns the time of one launch [s]: gpu__time_duration, else cycles over the cycle rate as in the
// papers.
std::optional<double> LaunchSeconds(const MetricValues& values);

// FLOPs and bytes of one launch, by the first recipe whose counters are all present. A pipe or
// level without counters is missing.
struct LaunchWork {
  std::map<std::string, double> flops;  // [flop] by pipe
  std::map<Level, double> bytes;        // [byte]
  // Tensor instructions ran, but their FLOPs are unknown: only on Volta is an instruction always
  // 512 FLOPs (NERSC's recipe). Other chips need the counters sm__ops_path_tensor_*.
  bool tensor_unknown = false;
};
LaunchWork WorkOfLaunch(const MetricValues& values, bool volta);

}  // namespace dlroof::imports
