// Logs of power meters of nodes (BMC, PDU, wall), and the energy of calls from these logs. Pure:
// the caller reads the files.
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
  int line = 0;        // line number in that file, from 1
};

struct MeterLog {
  std::vector<std::string> files;                           // paths as specified by the user
  std::map<std::string, std::vector<MeterSample>> samples;  // by node; each sorted by time

  // Returns the file names without folders: "watts.csv, rack2.csv".
  std::string From() const;
};

// Reads CSV with the columns node, time (ISO 8601 in UTC, "2026-11-23T10:00:01.5Z", or seconds
// since 1970) and watts, in any order of columns and rows. `files` has a name and a text per file.
// Throws BadInput with file and line for an unknown column, an invalid field, and two samples of
// the same node and time, in one file or in two.
MeterLog ParseMeterLogs(const std::vector<std::pair<std::string, std::string>>& files);

struct Cluster;

// The reason why the power in a window of time is unknown.
enum class NotMetered {
  kNoNode,      // the log has no sample of the node
  kOutside,     // the node has no sample in the window
  kFewSamples,  // fewer than 5 samples in the window without a period at each end
  kGap,     // neighbouring samples, or the last sample and the window's end, are > 3 periods apart
  kNoPower  // all samples are 0 W
};

// The power of one node during a window.
struct WindowPower {
  double watts = 0;  // [W] the mean
  // [W] 95 %, by Student's t over five parts of the window; needs 10 samples that differ
  std::optional<std::pair<double, double>> ci95;
  double period_seconds = 0;  // [s] median time between samples
  std::size_t samples = 0;    // [1] used
};

using PowerResult = std::variant<WindowPower, NotMetered>;

// Returns the mean power in the window. A meter reports the mean over a period that ends or begins
// at the sample's time, so a period at each end of the window is left out: the samples used are of
// calls only. Between samples the power is interpolated linearly. `samples` are sorted by time.
PowerResult PowerInWindow(const std::vector<MeterSample>& samples,
                          const energy::MeteredWindow& window);

// The window of one benchmark on one node.
struct NodeWindow {
  std::size_t node = 0;  // index into Cluster::nodes
  energy::MeteredWindow window;
};

// Sets the metered energy of each record: the median over nodes. `windows` has the windows of each
// record, in the records' order. Adds remarks on calls without metered energy, with reasons, and on
// nodes that are only in the log.
void AddMeteredEnergy(const MeterLog& log, const std::vector<std::vector<NodeWindow>>& windows,
                      Cluster& cluster);

}  // namespace dlroof::cluster
