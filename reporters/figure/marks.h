// The marks of a figure's panels, as gnuplot draws them: points, error bars, gaps, lines of a
// sweep, arrows from before to now.
#pragma once

#include <string>
#include <vector>

#include "reporters/figure/figure.h"
#include "reporters/figure/panel.h"

namespace dlroof {

// Drawing of one `plot` command: its data blocks and its elements.
struct Plot {
  std::string blocks;
  std::vector<std::string> elements;
};

// A data block "$name"; lines are separated by an empty line.
std::string Block(const std::string& name, const std::vector<std::vector<Point>>& lines);

// The points, their intervals, a legend; of a sweep its lines, of all levels what joins them.
void AddClassicMarks(const Figure& figure, Plot& plot);
// Where the roofs would allow a record to be, where it is, and the line between them: the gap.
// Crosses on it: the time that each pipe needs at its own ceiling, one after the other.
void AddTimeMarks(const Figure& figure, Plot& plot);

// "hollow: f32, filled: f16" where that tells the marks apart, else how they came about.
std::string FillMeans(const Figure& figure);

}  // namespace dlroof
