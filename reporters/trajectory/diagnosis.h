// One sentence for a trajectory: how it scales, and the largest measured cause where it does not.
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
  // With kLoss and kGain the largest cause; kUnexplained where nothing that was measured has as
  // much.
  std::optional<Cause> cause;
  double points = 0;  // [percentage points] of that cause
  std::string sentence;
};

// Judges the way from the first point to the last. Where FLOP/s along a size have a peak between
// them, it judges the way from the peak on.
Diagnosis Diagnose(const Trajectory& trajectory);

// Returns "overhead grown +12", the largest cause of a step with its percentage points; empty
// where the step is ideal.
std::string StepText(const TrajectoryStep& step);

}  // namespace dlroof::trajectory
