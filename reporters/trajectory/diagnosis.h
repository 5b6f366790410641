// One sentence on a trajectory: how it scales, and the largest measured cause of a loss or gain.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "reporters/trajectory/trajectory.h"

namespace dlroof::trajectory {

enum class Scaling {
  kOnePoint,  // no step to compare
  kUnknown,   // the points' FLOPs have different origins
  kIdeal,     // the threads' time for a unit of work stays within 5 %
  kLoss,      // it grows
  kGain,      // it shrinks
};

struct Diagnosis {
  Scaling scaling = Scaling::kOnePoint;
  // The largest cause of a kLoss or kGain; kUnexplained if more of it is unexplained.
  std::optional<Cause> cause;
  double points = 0;  // [percentage points] of that cause
  std::string sentence;
};

// Compares the last point with the first one or, if FLOP/s along a size peak between them, with the
// peak.
Diagnosis Diagnose(const Trajectory& trajectory);

// Returns the largest cause of a step with its percentage points, "overhead grown +12", or an empty
// text for an ideal step.
std::string StepText(const TrajectoryStep& step);

}  // namespace dlroof::trajectory
