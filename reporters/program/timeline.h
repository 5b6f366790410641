// Share of the clock that each call of a log takes, where calls of several threads overlap. Pure.
#pragma once

#include <vector>

#include "reporters/verbose/verbose_log.h"

namespace dlroof {

struct Timeline {
  // [s] by execution and by creation: the clock's time in which it runs, divided by the number of
  // those that run then. Together they are the time in which anything runs. Without a time stamp:
  // its own time.
  std::vector<double> executions, creations;
  bool stamped = false;  // every execution has a time stamp
};

Timeline TimelineOf(const VerboseLog& log);

}  // namespace dlroof
