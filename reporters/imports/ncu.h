// Meaning of Nsight Compute's counters: names of every version since 2020.1, as tables.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "counters/work.h"

namespace dlroof::imports {

// Counters of one launch, or sums over launches, in base units (s, byte, 1/s, 1).
using MetricValues = std::map<std::string, double, std::less<>>;

// True for a metric that one of the tables reads.
bool IsKnownMetric(std::string_view name);

// Factor from a unit of Nsight Compute to base units: "Kbyte" 1000, "usecond"
// 1e-6, "cycle/nsecond" 1e9, "inst" 1. Absent for one that is none of these.
std::optional<double> UnitFactor(std::string_view unit);

// [s] of one launch: gpu__time_duration, else cycles over the cycle rate as the papers do.
std::optional<double> LaunchSeconds(const MetricValues& values);

// FLOPs and bytes of one launch, each as the first of its recipes whose counters are all there. A
// pipe is unknown (absent) without its counters; that of the tensor cores on chips other than Volta
// needs sm__ops_path_tensor_*: `tensor_unknown` is set where only instructions were counted, which
// are 512 FLOPs each on Volta alone (NERSC's recipe), and some were.
struct LaunchWork {
  std::map<std::string, double> flops;
  std::map<Level, double> bytes;
  bool tensor_unknown = false;
};
LaunchWork WorkOfLaunch(const MetricValues& values, bool volta);

}  // namespace dlroof::imports
