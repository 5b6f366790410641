// Draws a run file with gnuplot: as SVG, PDF or PNG, or in letters for the terminal. Text from a
// file becomes a part of a gnuplot script only through GnuplotText().
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/base/error.h"
#include "reporters/roofline/chart.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/trajectory.h"

namespace dlroof::figure {

struct FigureOptions {
  std::optional<Level> level;  // level of FLOP/byte; nullopt: roofline::MainLevel()
  bool all_levels = false;     // draws a point per record and level, coloured by level
  std::string sweep;           // draws only the sweep lines of this parameter; empty: all points
  // An older run, or null. An arrow leads from each benchmark's point in it to the new point.
  const roofline::PlacedRun* before = nullptr;
};

// Returns the classic roofline in `width` [columns] of text, a letter per series, with its legend.
// Throws BadInput if there is nothing to draw, or if gnuplot is missing or fails.
std::string TerminalPicture(const roofline::PlacedRun& run, int width);

struct Figure {
  roofline::RoofSet roofs;
  Level level = Level::kDram;
  std::vector<roofline::Roof> flats;  // compute roofs (DrawnFlats)
  std::vector<roofline::ClassicMark> classic;
  std::vector<roofline::TimeMark> time;
  std::string caption;
  bool all_levels = false;
  bool has_nearer = false;                 // some marks are at a nearer level than `level`
  std::string sweep;                       // name of the swept parameter
  std::vector<roofline::SweepLine> lines;  // of the swept parameter
  std::vector<std::pair<std::pair<double, double>, std::pair<double, double>>> classic_moves,
      time_moves;  // arrows {point in the older run, point in this run}
  // Set if all time marks have the same compute roof: compute time is then FLOPs x a constant.
  std::optional<roofline::Roof> compute_roof;
};

// Returns the figure with the classic and the time-based roofline side by side, for the machine and
// number of threads of most records. Throws BadInput if there is nothing to draw.
Figure MakeFigure(const roofline::PlacedRun& run, const FigureOptions& options = {});

// Returns the compute roofs to draw, highest first: the roofs in use or, if none is, the plain
// roofs of all pipes (without an instruction set). If a roof in use is of an instruction set and
// its pipe's plain roof is higher, adds the plain roof, because the measured ridge ends at it.
std::vector<roofline::Roof> DrawnFlats(const roofline::PlacedRun& run,
                                       const roofline::RoofSet& roofs);

// Return gnuplot scripts that draw the figure as a file ("svg", "pdf" or "png"), or as text in
// `width` columns.
std::string FigureScript(const Figure& figure, const std::string& extension);
std::string TerminalScript(const Figure& figure, int width);

// Runs gnuplot on `script`, which must not set an output file, and returns its standard output.
// Throws BadInput if gnuplot is not installed, fails or draws nothing.
std::string RunGnuplot(const std::string& script);

// A figure of a page: an SVG, or the reason why there is none.
struct PageFigure {
  std::string svg, why_none;
};

// Runs gnuplot on the script that `script` returns. If `script` or gnuplot throws BadInput, returns
// the message as the reason and writes it to standard error: a page is useful without its figure.
PageFigure DrawForPage(const std::function<std::string()>& script);

// Returns the text as a gnuplot literal in single quotes. Letters, digits, blanks,
// "_.,:;/+-=()%<>|~*^#" and valid UTF-8 beyond ASCII stay. All other characters, such as quotes and
// backticks, become "_" (control characters e.g. "_x0A"), so text can never become a command.
std::string GnuplotText(std::string_view text);

// Returns a gnuplot script that draws the time breakdown of each record that has one, in the order
// of the file: a waterfall from the roof's time to the measured time. Throws BadInput if no record
// has a breakdown.
std::string BreakdownScript(const roofline::PlacedRun& run, const std::string& extension);

// Trajectories as arrows from few to many threads, under the roofs of each number of threads.
struct TrajectoryFigure {
  std::vector<Figure> roofs;  // roofs only, one figure per number of threads, most threads first
  Level level = Level::kDram;
  std::vector<roofline::Trajectory> trajectories;  // each has at least two points
  std::vector<std::string> captions;
};

// Returns the figure of the trajectories that have a level and two points or more. Throws BadInput
// if no trajectory has, or if the file has no ceilings for their numbers of threads.
TrajectoryFigure MakeTrajectoryFigure(const roofline::PlacedRun& run,
                                      const std::vector<roofline::Trajectory>& trajectories);
std::string TrajectoryScript(const TrajectoryFigure& figure, const std::string& extension);

// Arrows from records of a run A to records of a run B with the same op and type; one colour.
struct VersusSeries {
  std::string name;
  std::vector<std::pair<roofline::ClassicMark, roofline::ClassicMark>> arrows;
};

struct VersusFigure {
  Figure a, b;                 // roofs of the runs for the number of threads of most records
  std::string name_a, name_b;  // the runs' names in the caption; callers may change them
  std::vector<VersusSeries> series;
  std::size_t drawn = 0, operators = 0;  // [1] pairs with a point in both runs; all pairs
};

// Returns the figure of `pairs`: indices {of a record in `a`, of the same operator's record in
// `b`}. Throws BadInput if no pair has FLOPs, bytes and ceilings in both runs.
VersusFigure MakeVersusFigure(const roofline::PlacedRun& a, const roofline::PlacedRun& b,
                              const std::vector<std::pair<std::size_t, std::size_t>>& pairs);

std::string VersusScript(const VersusFigure& figure, const std::string& extension);

struct NodeMap {
  std::vector<std::string> nodes, benchmarks;
  // [%] By benchmark and node: (node's time / median node's time - 1); nullopt without a time.
  std::vector<std::vector<std::optional<double>>> slower;
  // [%] By roof: its name, and for each node with this roof (its rate / median node's rate - 1).
  std::vector<std::pair<std::string, std::vector<double>>> roofs;
  std::string caption;
};

// Returns a gnuplot script that draws a row per benchmark and a column per node. Throws BadInput if
// `map` has no benchmark or no node.
std::string NodeMapScript(const NodeMap& map, const std::string& extension);

using Point = std::pair<double, double>;

// One chart of a figure: ranges [powers of ten] and the size inside its axes [px].
struct Panel {
  double left = 0, right = 1, bottom = 0, top = 1;
  double width = 504, height = 340;
};

Panel ClassicPanel(const Figure& figure);
// Returns the panel of an ArrowChart that shows the roofs of all `figures` and, instead of the
// figures' own marks, `marks`. `height` is in pixels [px].
Panel SharedPanel(std::vector<Figure> figures, const std::vector<roofline::ClassicMark>& marks,
                  double height);
// Returns the panel of the time-based roofline. Both axes have the same scale, so the machine
// balance is a line at 45 degrees.
Panel TimePanel(const Figure& figure);

// Returns the line of a bandwidth roof, from left of any chart to the highest drawn compute roof.
std::vector<Point> SlantedLine(const roofline::Roof& slanted, const Figure& figure);
// Returns the line of a compute roof, from its ridge with the fastest level to right of any chart.
std::vector<Point> FlatLine(const roofline::Roof& flat, const Figure& figure);

// Returns e.g. "fp32.vector  200 GFLOP/s (not validated)".
std::string RoofName(const roofline::Roof& roof, std::string_view unit);

// Returns the commands that set the terminal for a file extension, e.g. "svg", and a size [px].
std::string SetTerminal(const std::string& extension, int width, int height);

// Returns the vertical distance [powers of ten] from which on labels do not overlap.
double LineHeight(const Panel& panel);

// Return commands for ranges and labels. `log_x` and `log_y` are decimal logarithms of a position;
// `style` has further options of gnuplot's "set label".
std::string Ranges(const Panel& panel);
std::string Label(const std::string& text, double log_x, double log_y, const std::string& style);
std::string RoofLabels(const Figure& figure, const Panel& panel);  // including sustained rates
// Returns the labels of the roofs without sustained rates; `renamed` converts the roofs' names.
std::string RoofLabels(Figure figure, const Panel& panel,
                       const std::function<std::string(const std::string& name)>& renamed);
// Returns the ridges' labels. Ridges whose labels would overlap share one, e.g. "ridge 201, 212".
std::string RidgeLabels(const Figure& figure, const Panel& panel);

// Returns gnuplot's dash type of a roof: solid if validated, dash-dotted if specified, else dashed.
int DashOf(const roofline::Roof& roof);
// Captions append it to the level's name if some marks are at a nearer level.
inline constexpr const char* kOrOfCache = " or the cache that holds the tensors";
// Returns the row of an arrow in a data block for "with vectors".
std::string ArrowRow(const Point& from, const Point& to);
// Returns the row of a point in a data block for "lc rgb variable". A noisy point is pale.
std::string PointRow(const Point& point, std::string_view colour, bool noisy);
// Returns the names of the run's machines, joined by " + ".
std::string MachineNames(const roofline::PlacedRun& run);

// One `plot` command: its data blocks and its elements.
struct Plot {
  std::string blocks;
  std::vector<std::string> elements;
};

// Adds the data block "$NAME" with these rows, and the element "$NAME HOW", e.g. "$a with lines".
void DrawRows(const std::string& name, const std::string& rows, const std::string& how, Plot& plot);
// Calls DrawRows with the lines' points, and an empty row after each line.
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
  double bottom = 0.29;  // [1] share of the height that is below the axes
  std::string title;
  std::vector<std::string> captions;  // lines below the legend
};
std::string ArrowChartScript(const ArrowChart& chart, const std::string& extension,
                             const Panel& panel, const std::string& labels, const Plot& plot);

// Returns one of seven colours, e.g. "#0072b2" (the first three are Okabe and Ito's for any colour
// vision). The eighth series has the first colour again.
std::string_view SeriesColour(std::size_t index);

// Returns the colour or, if `pale`, a mix of a third of the colour and two thirds of white.
std::string Shade(std::string_view colour, bool pale);

}  // namespace dlroof::figure
