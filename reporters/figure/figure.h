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
  std::optional<Level> level;  // level of the FLOP/byte; default: the farthest known
  bool all_levels = false;     // draws one point per level, coloured by level
  std::string sweep;           // name of a parameter: draws only its sweep lines; may be empty
  // An older run, or null. Draws an arrow from each benchmark's point in it to its new point.
  const roofline::PlacedRun* before = nullptr;
};

// Writes the classic and the time-based roofline side by side, for the machine and number of
// threads of most records. The extension of `path` chooses the format: .svg, .pdf or .png. Throws
// BadInput for another extension, if there is nothing to draw, if gnuplot is missing or fails, or
// if `path` is not writable (leaves no partial file).
void WriteFigure(const roofline::PlacedRun& run, const std::string& path,
                 const FigureOptions& options = {});

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
  // The compute roof of all time marks; set only if they share one. Compute time is then
  // proportional to FLOPs.
  std::optional<roofline::Roof> compute_roof;
};
Figure MakeFigure(const roofline::PlacedRun& run, const FigureOptions& options = {});

// Returns the compute roofs to draw, highest first: the roofs of the pipes in use, or of all plain
// pipes if none is in use. If a roof in use is of an instruction set and its pipe's plain roof is
// higher, includes the plain roof, because the measured ridge ends at it.
std::vector<roofline::Roof> DrawnFlats(const roofline::PlacedRun& run,
                                       const roofline::RoofSet& roofs);

// Returns "svg", "pdf" or "png". Throws BadInput for any other extension.
std::string FigureExtension(const std::string& path);

// Return gnuplot scripts that draw the figure in a file and in a terminal of `width` columns.
std::string FigureScript(const Figure& figure, const std::string& extension);
std::string TerminalScript(const Figure& figure, int width);

// Writes the picture of the script that `script` returns for the extension of `path`: .svg, .pdf or
// .png. Throws BadInput as WriteFigure does.
void WriteDrawing(const std::string& path,
                  const std::function<std::string(const std::string& extension)>& script);

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
// "_.,:;/+-=()%<>|~*^#" and valid UTF-8 beyond ASCII stay; every other character becomes "_".
// Quotes, backticks and newlines are removed, so text of a file can never become a command.
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

// Throws BadInput if no trajectory can be drawn.
TrajectoryFigure MakeTrajectoryFigure(const roofline::PlacedRun& run,
                                      const std::vector<roofline::Trajectory>& trajectories);
std::string TrajectoryScript(const TrajectoryFigure& figure, const std::string& extension);

// gnuplot scripts for clusters: two clusters on one roofline, and a map of nodes and benchmarks.
// Text from files is inserted into scripts only by GnuplotText().

// Benchmarks with the same op and type, drawn in one colour.
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

// Each of `pairs` has the indices of a record in `a` and of a record in `b` for the same operator.
// Throws BadInput if no pair has FLOPs, bytes and ceilings on both sides.
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

// Draws a row per benchmark and a column per node. Throws BadInput if `map` has no node or no
// benchmark.
std::string NodeMapScript(const NodeMap& map, const std::string& extension);

}  // namespace dlroof::figure
