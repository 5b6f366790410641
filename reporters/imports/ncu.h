// Converts Nsight Compute's counters to FLOPs, bytes and time, for all versions since 2020.1.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/work.h"
#include "reporters/imports/import.h"
#include "reporters/text/numbers.h"

namespace dlroof::imports {

// Counters of one launch, or sums over launches, in base units (s, byte, 1/s, 1).
using MetricValues = std::map<std::string, double, std::less<>>;

// Returns whether this reader computes FLOPs, bytes or time from the metric.
bool IsKnownMetric(std::string_view name);

// Returns whether the metric counts instructions of tensor cores or of a kind that this reader does
// not know: if it is not 0 and not known, FLOPs are unknown.
bool IsWorkMetric(std::string_view name);

// Returns whether a value of the known metric can have the unit. Counts may have none.
bool IsUnitOf(std::string_view metric, const text::Unit& unit);

// Returns the time of one launch [s]: gpu__time_duration, else cycles divided by cycles per second,
// as in the hierarchical roofline papers.
std::optional<double> LaunchSeconds(const MetricValues& values);

// FLOPs and bytes of one kernel launch, by the first recipe of each pipe or level whose counters
// are all present. A counter may be given per second or per cycle. Without such a recipe the map
// has no entry.
struct LaunchWork {
  // Instructions that ran, but whose FLOPs are unknown, so that the sum of FLOPs is unknown.
  enum class Unknown {
    kNone,
    kTensor,  // Tensor instructions differ in FLOPs; on Volta each has 512 (NERSC's recipe). Other
              // GPUs need the counters sm__ops_path_tensor_*.
    kVector   // a pipe's counter (add, multiply, multiply-add) is missing, or there is another one
  };
  std::map<std::string, double> flops;  // [flop] by pipe
  std::map<Level, double> bytes;        // [byte]
  Unknown unknown = Unknown::kNone;
};
LaunchWork WorkOfLaunch(const MetricValues& values, bool volta);

// One row of Nsight Compute's table.
struct CountedLaunch {
  std::string kernel;                                       // as ncu spells it
  std::optional<std::array<std::uint32_t, 3>> grid, block;  // if the table has them
  LaunchWork work;
  std::optional<double> seconds;  // [s]
};
// Returns all launches of a table, in its order. Throws BadInput like ImportNsightCompute.
std::vector<CountedLaunch> ReadCountedLaunches(const std::string& text, const std::string& where);

// The rest is private to the module: the table before its counters become work.

struct Launch {
  std::string kernel;
  std::optional<std::array<std::uint32_t, 3>> grid, block;  // if the table has the columns
  std::optional<std::string> capability;                    // "7.0", if the table has the column
  std::string device;                                       // its number; may be empty
  MetricValues values;
};

struct NsightTable {
  std::vector<Launch> launches;      // in the order of the table
  int missing_values = 0;            // [1] of known metrics that are no numbers, such as "n/a"
  LeftOut left_out;                  // rows and values that cannot be read
  std::vector<std::string> unknown;  // metrics
  int header_line = 0;
};
NsightTable ReadNsightTable(const std::string& text, const std::string& where);

}  // namespace dlroof::imports
