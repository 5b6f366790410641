// The plane of a figure's chart, as gnuplot reads it: its ranges, the lines of its roofs, where
// their labels stand, and the marks on it: points, error bars, gaps, lines of a sweep, arrows from
// before to now, and the colours of series.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporters/figure/figure.h"

namespace dlroof::figure {

using Point = std::pair<double, double>;

// A panel of the figure: ranges [powers of ten] and the area inside its axes [px].
struct Panel {
  double left = 0, right = 1, bottom = 0, top = 1;
  double width = 504, height = 340;
};

Panel ClassicPanel(const Figure& figure);
// The classic panel that holds the roofs of each figure and all of `marks`, which replace theirs.
Panel SharedPanel(std::vector<Figure> figures, const std::vector<roofline::ClassicMark>& marks);
// Both axes of one scale: the machine balance rises at 45 degrees.
Panel TimePanel(const Figure& figure);

// From far left of every chart to the ridge with the highest flat roof drawn.
std::vector<Point> SlantedLine(const roofline::Roof& slanted, const Figure& figure);
// From the ridge with the fastest level to far right of every chart.
std::vector<Point> FlatLine(const roofline::Roof& flat, const Figure& figure);

// "fp32.vector  200 GFLOP/s (not validated)"
std::string RoofName(const roofline::Roof& roof, std::string_view unit);

// Commands that choose a terminal by the file's extension ("svg"), of this size [px].
std::string SetTerminal(const std::string& extension, int width, int height);

// Commands: the ranges; a label at powers of ten, `how` it is aligned and coloured; those of roofs
// and ridges.
std::string Ranges(const Panel& panel);
std::string Label(const std::string& text, double log_x, double log_y, const std::string& how);
std::string RoofLabels(const Figure& figure, const Panel& panel);  // and of what is sustained
std::string RidgeLabels(const Figure& figure, const Panel& panel);

// Gnuplot's line type of a roof: whole, dashed, or dashes and dots.
int DashOf(const roofline::Roof& roof);
// A row of a data block: a way from one point to another, as "with vectors" takes it.
std::string WayRow(const Point& from, const Point& to);
// "A + B": the names of the run's machines.
std::string MachineNames(const roofline::PlacedRun& run);

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

// Okabe and Ito's colours without yellow, told apart with any colour vision; they begin anew after
// the seventh.
std::string_view SeriesColour(std::size_t index);

// Returns "#0072b2", or for a pale mark a third of it on white.
std::string Shade(std::string_view colour, bool pale);

}  // namespace dlroof::figure
