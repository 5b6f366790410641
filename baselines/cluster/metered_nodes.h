// Logs of node power meters (BMC, PDU, wall), and the energy of calls by them. Pure: the caller
// reads the files.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "counters/energy/energy.h"

namespace dlroof::cluster {

struct MeterSample {
  double seconds = 0;  // [s] since 1970, UTC
  double watts = 0;    // [W] >= 0
  int file = 0;        // index into MeterLog::files
  int line = 0;        // in that file, from 1
};

struct MeterLog {
  std::vector<std::string> files;                           // paths as given
  std::map<std::string, std::vector<MeterSample>> samples;  // by node; each sorted by time

  // Returns the file names without folders: "watts.csv, rack2.csv".
  std::string From() const;
};

// Reads CSV with the columns node, time (ISO 8601 in UTC, "2026-11-23T10:00:01.5Z", or seconds
// since 1970) and watts, in any order of columns and rows. `files` has a name and a text for each.
// Throws BadInput with file and line for an unknown column, an invalid field, and two samples of
// the same node and time, in one file or in two.
MeterLog ParseMeterLogs(const std::vector<std::pair<std::string, std::string>>& files);

struct Cluster;

// Why a window has no power.
enum class NotMetered {
  kNoNode,      // the log has no sample of the node
  kOutside,     // none of its samples is of the window's time
  kFewSamples,  // fewer than 5 in the window, less a period at each end
  kGap,         // two neighbours, or the last one and the window's end, are > 3 periods apart
  kNoPower      // all of them are 0 W
};

// The power of one node during a window.
struct WindowPower {
  double watts = 0;  // [W] the mean
  // [W] 95 %, Student's, from five parts of the window; set from 10 samples on if they differ
  std::optional<std::pair<double, double>> ci95;
  double period_seconds = 0;  // [s] median distance of samples
  std::size_t samples = 0;    // [1] used
};

using PowerResult = std::variant<WindowPower, NotMetered>;

// Returns the mean power in the window. A meter reports the mean over its period, which may end or
// begin at the sample's time, so a period at each end of the window is left out: each sample is
// then of calls only. Between samples the power is interpolated linearly. `samples` are sorted by
// time.
PowerResult PowerInWindow(const std::vector<MeterSample>& samples,
                          const energy::MeteredWindow& window);

// The window of one benchmark on one node.
struct NodeWindow {
  std::size_t node = 0;  // index into Cluster::nodes
  energy::MeteredWindow window;
};

// Sets `metered` of each record by its windows (in the records' order): the median over nodes.
// Adds remarks on calls without metered energy, with reasons, and on nodes that only the log has.
void AddMeteredEnergy(const MeterLog& log, const std::vector<std::vector<NodeWindow>>& windows,
                      Cluster& cluster);

}  // namespace dlroof::cluster
