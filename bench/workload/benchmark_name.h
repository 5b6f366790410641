// A benchmark's name is the line that repeats it:
// op/device/library/direction/type/problem[/option...].
#pragma once

#include <string>
#include <vector>

namespace dlroof::workload {

struct BenchmarkName {
  std::string op, device, library, direction, type, problem;
  std::vector<std::string> options;

  bool operator==(const BenchmarkName&) const = default;
};

std::string ToText(const BenchmarkName& name);

// Throws BadInput with the column (from 1) of the first bad character: fewer than six parts, an
// empty part, a character outside [A-Za-z0-9_.:+-]. The registry judges op, library
// and problem.
BenchmarkName ParseBenchmarkName(const std::string& text);

}  // namespace dlroof::workload
