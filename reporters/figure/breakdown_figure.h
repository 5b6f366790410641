// Breakdowns as a figure: a waterfall per benchmark, from the roof's own time to the measured one.
//
// Trajectories as a figure: arrows from low to high concurrency, under the roofs of each number of
// threads.
#pragma once

#include <string>
#include <vector>

#include "reporters/figure/figure.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/trajectory/trajectory.h"

namespace dlroof::figure {

// Returns a gnuplot script of the records that have a breakdown, in the order of the file; text of
// the file stands in it only as GnuplotText. Throws BadInput where none has one.
std::string BreakdownScript(const roofline::PlacedRun& run, const std::string& extension);

// Writes .svg, .pdf or .png. Throws BadInput as WriteFigure does.
void WriteBreakdownFigure(const roofline::PlacedRun& run, const std::string& path);

struct TrajectoryFigure {
  std::vector<Figure> roofs;  // one for each number of threads with a point, most first; no marks
  Level level = Level::kDram;
  std::vector<trajectory::Trajectory> trajectories;  // those with two points of this level or more
  std::string caption;
};

// Throws BadInput where there is nothing to draw.
TrajectoryFigure MakeTrajectoryFigure(const roofline::PlacedRun& run,
                                      const std::vector<trajectory::Trajectory>& trajectories);
// Returns a gnuplot script; text of the file stands in it only as GnuplotText.
std::string TrajectoryScript(const TrajectoryFigure& figure, const std::string& extension);

// Writes .svg, .pdf or .png. Throws BadInput as WriteFigure does.
void WriteTrajectoryFigure(const roofline::PlacedRun& run,
                           const std::vector<trajectory::Trajectory>& trajectories,
                           const std::string& path);

}  // namespace dlroof::figure
