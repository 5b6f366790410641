// One sentence on a trajectory: how it scales, and the largest measured cause of a loss or gain.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "reporters/roofline/trajectory.h"

namespace dlroof::roofline {

enum class Scaling {
  kOnePoint,  // no step to compare
  kUnknown,   // the points' FLOPs have different provenances
  kIdeal,     // threads x time / work changes by at most 5 %
  kLoss,      // threads x time / work grows by more
  kGain,      // threads x time / work shrinks by more
};

struct Diagnosis {
  Scaling scaling = Scaling::kOnePoint;
  // The largest cause of a loss or gain, or kUnexplained if the unexplained part is larger.
  std::optional<Cause> cause;
  double points = 0;  // [percentage points] contribution of `cause`
  std::string sentence;
};

// Compares the last point with the first point or, along a size, with the peak of FLOP/s if the
// peak is between them.
Diagnosis Diagnose(const Trajectory& trajectory);

// Returns the largest cause of a step with its percentage points, "overhead grown +12", or an empty
// text for an ideal step.
std::string StepText(const TrajectoryStep& step);

}  // namespace dlroof::roofline
