// Logs of nodes' meters (BMC, PDU, wall): watts over time, by node. Pure: the caller reads the
// files.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dlroof {

struct MeterSample {
  double seconds = 0;  // [s] since 1970, UTC
  double watts = 0;    // [W] >= 0
  int file = 0;        // index into MeterLog::files
  int line = 0;        // of it, from 1
};

struct MeterLog {
  std::vector<std::string> files;                           // as the user calls them
  std::map<std::string, std::vector<MeterSample>> samples;  // by node; each rises in time

  // "watts.csv, rack2.csv": the files without their folders.
  std::string From() const;
};

// Reads CSV with the columns node, time (ISO 8601 in UTC, "2026-11-23T10:00:01.5Z", or seconds
// since 1970) and watts, in any order of columns and rows. `files`: name and text of each. Throws
// BadInput with file and line for another column, a field that is none of these, and two samples of
// one node and time, whichever files they are in.
MeterLog ParseMeterLogs(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace dlroof
