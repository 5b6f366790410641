// Parts of gnuplot scripts that several figures use: a chart's ranges, roofs with labels, and marks
// (points, error bars, sweep lines, arrows, colours of series).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reporters/figure/figure.h"

namespace dlroof::figure {

using Point = std::pair<double, double>;

// One chart of a figure: ranges [powers of ten] and the area inside its axes [px].
struct Panel {
  double left = 0, right = 1, bottom = 0, top = 1;
  double width = 504, height = 340;
};

Panel ClassicPanel(const Figure& figure);
// Returns the panel of an ArrowChart: it contains the roofs of all figures and `marks`, but not the
// figures' own marks.
Panel SharedPanel(std::vector<Figure> figures, const std::vector<roofline::ClassicMark>& marks,
                  double height);
// Both axes have the same scale, so the machine balance is a line at 45 degrees.
Panel TimePanel(const Figure& figure);

// Returns a bandwidth roof from beyond the left edge of any chart to its ridge with the highest
// drawn compute roof.
std::vector<Point> SlantedLine(const roofline::Roof& slanted, const Figure& figure);
// Returns a compute roof from its ridge with the fastest level to beyond the right edge of a chart.
std::vector<Point> FlatLine(const roofline::Roof& flat, const Figure& figure);

// Returns "fp32.vector  200 GFLOP/s (not validated)".
std::string RoofName(const roofline::Roof& roof, std::string_view unit);

// Returns the commands that set the terminal for a file extension ("svg") and a size [px].
std::string SetTerminal(const std::string& extension, int width, int height);

// Returns the minimum vertical distance of labels that do not overlap [powers of ten].
double LineHeight(const Panel& panel);

// Return commands for the ranges and for labels. `log_x` and `log_y` are powers of ten; `style` is
// gnuplot's alignment and colour.
std::string Ranges(const Panel& panel);
std::string Label(const std::string& text, double log_x, double log_y, const std::string& style);
std::string RoofLabels(const Figure& figure, const Panel& panel);  // with the sustained rates
// Returns the labels without sustained rates; `renamed` converts the roofs' names.
std::string RoofLabels(Figure figure, const Panel& panel,
                       const std::function<std::string(const std::string& name)>& renamed);
// Returns the labels of ridges. Ridges whose labels would overlap share one: "ridge 201, 212".
std::string RidgeLabels(const Figure& figure, const Panel& panel);

// Returns gnuplot's dash type of a roof: solid if validated, dash-dotted if specified, else dashed.
int DashOf(const roofline::Roof& roof);
// Appended to the level's name in captions if some marks are of a nearer level.
inline constexpr const char* kOrOfCache = " or the cache that holds the tensors";
// Returns a row of a data block for "with vectors": an arrow.
std::string ArrowRow(const Point& from, const Point& to);
// Returns a row of a data block for "lc rgb variable": a point, pale if it is noisy.
std::string PointRow(const Point& point, std::string_view colour, bool noisy);
// Returns "A + B": the names of the run's machines.
std::string MachineNames(const roofline::PlacedRun& run);

// One `plot` command: its data blocks and its elements.
struct Plot {
  std::string blocks;
  std::vector<std::string> elements;
};

// Returns a data block "$name". Empty lines separate the lines of the chart.
std::string Block(const std::string& name, const std::vector<std::vector<Point>>& lines);

// Adds the block "$name" with these lines and an element that draws it: "$name with lines ...".
void Draw(const std::string& name, const std::vector<std::vector<Point>>& lines,
          const std::string& how, Plot& plot);
// Adds the roofs of a figure as lines of this style, in blocks "$<prefix><number>".
void AddRoofLines(const Figure& figure, const std::string& prefix, const std::string& style,
                  Plot& plot);
// Returns the commands that define the blocks and plot the elements.
std::string Joined(const Plot& plot);

// A classic roofline with several sets of roofs and arrows between points.
struct ArrowChart {
  int height = 640;      // [px]
  double bottom = 0.29;  // [1] of the height, below the axes
  std::string title;
  std::vector<std::string> captions;  // lines below the legend
};
std::string ArrowChartScript(const ArrowChart& chart, const std::string& extension,
                             const Panel& panel, const std::string& labels, const Plot& plot);

// Adds the points with confidence intervals and a legend, and lines: the sweep's lines, or a line
// that joins the levels of each record.
void AddClassicMarks(const Figure& figure, Plot& plot);
// Adds for each record a dot at the time that its roofs allow, a symbol at its measured time, and
// the line between them with crosses at the pipes' cumulative times at their own ceilings.
void AddTimeMarks(const Figure& figure, Plot& plot);

// Returns the legend of the symbols: "hollow: f32, filled: f16" or "hollow: modelled, ...".
std::string FillLegend(const Figure& figure);

// Returns one of Okabe and Ito's seven colours, which are distinguishable by any colour vision. The
// eighth series has the first colour again.
std::string_view SeriesColour(std::size_t index);

// Returns the colour, or for a pale mark one third of it on white.
std::string Shade(std::string_view colour, bool pale);

}  // namespace dlroof::figure
