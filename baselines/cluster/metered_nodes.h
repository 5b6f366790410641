// Logs of nodes' meters (BMC, PDU, wall), and the energy of calls by them. Pure: the caller reads
// the files.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/energy/energy.h"

namespace dlroof::cluster {

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

struct Cluster;

enum class NotMetered {
  kNoNode,      // the log has no sample of the node
  kOutside,     // none of its samples is of the window's time
  kFewSamples,  // fewer than 5 in the window, less a period at each end
  kGap,    // two of them, or one and the window's end, are more than 3 periods apart
  kNoPower      // all of them are 0 W
};

// The power of one node during a window.
struct WindowPower {
  double watts = 0;  // [W] the mean
  // [W] 95 %, Student's, from five parts of the window; absent: fewer than 10 samples, or all equal
  std::optional<std::pair<double, double>> ci95;
  double period_seconds = 0;  // [s] median distance of samples
  std::size_t samples = 0;    // that count
};

struct PowerResult {
  std::optional<WindowPower> power;
  NotMetered why_not = NotMetered::kNoNode;  // where there is no `power`
};

// A meter tells the mean over its period, which may end or begin at the sample's time: a period at
// each end of the window is left out, so that each sample is of calls alone. Between samples the
// watts are those of the line through both (trapezoids). `samples` rise in time.
PowerResult PowerInWindow(const std::vector<MeterSample>& samples,
                         const energy::MeteredWindow& window);

// The window of one benchmark on one node.
struct NodeWindow {
  std::size_t node = 0;  // index into Cluster::nodes
  energy::MeteredWindow window;
};

// Sets `metered` of each record by its windows, in the records' order: the median over nodes.
// Remarks say how many calls have none and why, and which nodes of the log the cluster lacks.
void AddMeteredEnergy(const MeterLog& log, const std::vector<std::vector<NodeWindow>>& windows,
                Cluster& cluster);

}  // namespace dlroof::cluster
