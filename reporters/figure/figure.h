// Draws a run file with gnuplot: as SVG, PDF or PNG, or in letters for the terminal. Text from
// files is inserted into scripts only by GnuplotText().
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
  std::optional<Level> level;  // level of the FLOP/byte; default: roofline::MainLevel()
  bool all_levels = false;     // draws one point per level, coloured by level
  std::string sweep;           // name of a parameter: draws only its sweep lines; may be empty
  // An older run, or null. Draws an arrow from each benchmark's point in it to its new point.
  const roofline::PlacedRun* before = nullptr;
};

// Returns the classic roofline in `width` [columns] of text, a letter per series, with its legend.
// Throws BadInput if there is nothing to draw, or if gnuplot is missing or fails.
std::string TerminalPicture(const roofline::PlacedRun& run, int width);

struct Figure {
  roofline::RoofSet roofs;
  Level level = Level::kDram;
  std::vector<roofline::Roof> flats;  // compute roofs by DrawnFlats()
  std::vector<roofline::ClassicMark> classic;
  std::vector<roofline::TimeMark> time;
  std::string caption;
  bool all_levels = false;
  bool has_nearer = false;                 // some marks are of a nearer level than `level`
  std::string sweep;                       // name of the swept parameter
  std::vector<roofline::SweepLine> lines;  // of the swept parameter
  std::vector<std::pair<std::pair<double, double>, std::pair<double, double>>> classic_moves,
      time_moves;  // arrows from the older run's point to this run's
  // The compute roof of all time marks, if they share one: then compute time is FLOPs x a constant.
  std::optional<roofline::Roof> compute_roof;
};

// Returns the classic and the time-based roofline side by side, for the machine and number of
// threads of most records. Throws BadInput if there is nothing to draw.
Figure MakeFigure(const roofline::PlacedRun& run, const FigureOptions& options = {});

// Returns the compute roofs to draw, highest first: the roofs of the pipes in use, or of all plain
// pipes if none is in use. If a roof in use is of an instruction set and its pipe's plain roof is
// higher, includes the plain roof, because the measured ridge ends at it.
std::vector<roofline::Roof> DrawnFlats(const roofline::PlacedRun& run,
                                       const roofline::RoofSet& roofs);

// Return gnuplot scripts that draw the figure in a file ("svg", "pdf" or "png") and in a terminal
// of `width` columns.
std::string FigureScript(const Figure& figure, const std::string& extension);
std::string TerminalScript(const Figure& figure, int width);

// Runs gnuplot on `script`, which must not set an output file, and returns its standard output.
// Throws BadInput if gnuplot is not installed, fails or draws nothing.
std::string RunGnuplot(const std::string& script);

// A figure of a page: an SVG, or the reason why there is none.
struct PageFigure {
  std::string svg;
  std::optional<Reason> reason;
};

// Runs gnuplot on the script that `script` returns. If that throws BadInput, returns the message as
// the reason and writes it to standard error, because a page is useful without its figure.
PageFigure DrawForPage(const std::function<std::string()>& script);

// Returns the text as a gnuplot literal in single quotes. Letters, digits, blanks,
// "_.,:;/+-=()%<>|~*^#" and valid UTF-8 beyond ASCII stay. Quotes, backticks and all others become
// "_", control characters "_x0A" and so on, so text of a file can never become a command.
std::string GnuplotText(std::string_view text);

// Figures of time breakdowns (a waterfall per benchmark, from the roof's time to the measured time)
// and of trajectories (arrows from low to high concurrency under the roofs of each thread count).

// Returns a gnuplot script that draws the breakdown of each record that has one, in the order of
// the file. Throws BadInput if no record has a breakdown.
std::string BreakdownScript(const roofline::PlacedRun& run, const std::string& extension);

struct TrajectoryFigure {
  std::vector<Figure> roofs;  // roofs only, one per number of threads, the most threads first
  Level level = Level::kDram;
  std::vector<roofline::Trajectory> trajectories;  // each has at least two points
  std::vector<std::string> captions;
};

// Returns the figure of the trajectories that have a level and two points or more. Throws BadInput
// if there is none, or if the file has no ceilings for their numbers of threads.
TrajectoryFigure MakeTrajectoryFigure(const roofline::PlacedRun& run,
                                      const std::vector<roofline::Trajectory>& trajectories);
std::string TrajectoryScript(const TrajectoryFigure& figure, const std::string& extension);

// Pairs of benchmarks with the same op and type: arrows from A's point to B's, in one colour.
struct VersusSeries {
  std::string name;
  std::vector<std::pair<roofline::ClassicMark, roofline::ClassicMark>> arrows;
};

struct VersusFigure {
  Figure a, b;                 // roofs for the number of threads of most records
  std::string name_a, name_b;  // names in the text below the figure; callers may change them
  std::vector<VersusSeries> series;
  std::size_t drawn = 0, operators = 0;  // [1] pairs with bytes on both sides, all pairs
};

// Returns the figure of `pairs`: each has the indices of a record in `a` and of a record in `b` for
// the same operator. Throws BadInput if no pair has FLOPs, bytes and ceilings on both sides.
VersusFigure MakeVersusFigure(const roofline::PlacedRun& a, const roofline::PlacedRun& b,
                              const std::vector<std::pair<std::size_t, std::size_t>>& pairs);

std::string VersusScript(const VersusFigure& figure, const std::string& extension);

struct NodeMap {
  std::vector<std::string> nodes, benchmarks;
  // [%] By benchmark and node: difference of the node's time from the median node's, if it has one.
  std::vector<std::vector<std::optional<double>>> slower;
  // [%] By roof: difference of each node's rate from the median node's.
  std::vector<std::pair<std::string, std::vector<double>>> roofs;
  std::string caption;
};

// Returns a gnuplot script that draws a row per benchmark and a column per node. Throws BadInput if
// `map` has no benchmark or no node.
std::string NodeMapScript(const NodeMap& map, const std::string& extension);

// Parts of gnuplot scripts that several figures use: a chart's ranges, roofs with labels, and marks
// (points, error bars, sweep lines, arrows, colours of series).

using Point = std::pair<double, double>;

// One chart of a figure: ranges [powers of ten] and the area inside its axes [px].
struct Panel {
  double left = 0, right = 1, bottom = 0, top = 1;
  double width = 504, height = 340;
};

Panel ClassicPanel(const Figure& figure);
// Returns the panel of an ArrowChart that shows the roofs of all `figures`, and `marks` instead of
// the figures' own marks.
Panel SharedPanel(std::vector<Figure> figures, const std::vector<roofline::ClassicMark>& marks,
                  double height);
// Returns the panel of the time-based roofline. Both axes have the same scale, so the machine
// balance is a line at 45 degrees.
Panel TimePanel(const Figure& figure);

// Returns a bandwidth roof from beyond any chart's left edge to the highest drawn compute roof.
std::vector<Point> SlantedLine(const roofline::Roof& slanted, const Figure& figure);
// Returns a compute roof from its ridge with the fastest level to beyond the right edge of a chart.
std::vector<Point> FlatLine(const roofline::Roof& flat, const Figure& figure);

// Returns "fp32.vector  200 GFLOP/s (not validated)".
std::string RoofName(const roofline::Roof& roof, std::string_view unit);

// Returns the commands that set the terminal for a file extension ("svg") and a size [px].
std::string SetTerminal(const std::string& extension, int width, int height);

// Returns the minimum vertical distance of labels that do not overlap [powers of ten].
double LineHeight(const Panel& panel);

// Return commands for ranges and labels. `log_x` and `log_y` are powers of ten; `style` has the
// other options of gnuplot's "set label".
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

// Adds the data block "$name" and an element that draws it: "$name with lines ...".
void DrawRows(const std::string& name, const std::string& rows, const std::string& how, Plot& plot);
// Draws lines, in the block separated by empty lines.
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
