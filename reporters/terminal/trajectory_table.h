// Trajectories as text for a terminal: a table each, and the sentence of its diagnosis.
#pragma once

#include <iosfwd>
#include <vector>

#include "reporters/trajectory/trajectory.h"

namespace dlroof::terminal {

// Writes a row per point: threads, size, time, FLOP/s, intensity, share of the roof, the step from
// the point before and its largest cause.
void WriteTrajectories(const std::vector<trajectory::Trajectory>& trajectories, std::ostream& out);

}  // namespace dlroof::terminal
