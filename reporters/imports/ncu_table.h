// Reader of Nsight Compute's table, before its counters become work (ncu.h). Private to the module.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "reporters/imports/import.h"
#include "reporters/imports/ncu.h"

namespace dlroof::imports {

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
