// Figures of time breakdowns (a waterfall per benchmark, from the roof's time to the measured time)
// and of trajectories (arrows from low to high concurrency under the roofs of each thread count).
#pragma once

#include <string>
#include <vector>

#include "reporters/figure/figure.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/trajectory.h"

namespace dlroof::figure {

// Returns a gnuplot script that draws the breakdown of each record that has one, in the order of
// the file. Throws BadInput if no record has a breakdown.
std::string BreakdownScript(const roofline::PlacedRun& run, const std::string& extension);

struct TrajectoryFigure {
  std::vector<Figure> roofs;  // roofs only, one per number of threads, the most threads first
  Level level = Level::kDram;
  std::vector<roofline::Trajectory> trajectories;  // each has at least two points
  std::vector<std::string> captions;
};

// Throws BadInput if no trajectory can be drawn.
TrajectoryFigure MakeTrajectoryFigure(const roofline::PlacedRun& run,
                                      const std::vector<roofline::Trajectory>& trajectories);
std::string TrajectoryScript(const TrajectoryFigure& figure, const std::string& extension);

}  // namespace dlroof::figure
