// The energy of calls by the meters of their nodes. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/cluster/meter_log.h"
#include "counters/energy/metered.h"

namespace dlroof {

struct Cluster;

enum class NotMetered {
  kNoNode,      // the log has no sample of the node
  kOutside,     // none of its samples is of the window's time
  kFewSamples,  // fewer than 5 in the window, less a period at each end
  kGap,         // two of them, or one and the window's end, are more than 3 periods apart
  kNoPower      // all of them are 0 W
};
std::string_view ReasonText(NotMetered why);

// The power of one node during a window.
struct WindowPower {
  double watts = 0;  // [W] the mean
  // [W] 95 %, Student's, from five parts of the window; absent: fewer than 10 samples, or all equal
  std::optional<std::pair<double, double>> ci95;
  double period_seconds = 0;  // [s] median distance of samples
  std::size_t samples = 0;    // that count
};

struct PowerFound {
  std::optional<WindowPower> power;
  NotMetered why_not = NotMetered::kNoNode;  // where there is no `power`
};

// A meter tells the mean over its period, which may end or begin at the sample's time: a period at
// each end of the window is left out, so that each sample is of calls alone. Between samples the
// watts are those of the line through both (trapezoids). `samples` rise in time.
PowerFound PowerInWindow(const std::vector<MeterSample>& samples, const MeteredWindow& window);

// The window of one benchmark on one node.
struct NodeWindow {
  std::size_t node = 0;  // index into Cluster::nodes
  MeteredWindow window;
};

// Sets `metered` of each record by its windows, in the records' order: the median over nodes.
// Remarks say how many calls have none and why, and which nodes of the log the cluster lacks.
void AddMetered(const MeterLog& log, const std::vector<std::vector<NodeWindow>>& windows,
                Cluster& cluster);

}  // namespace dlroof
