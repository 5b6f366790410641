// A run file as a figure: SVG, PDF or PNG for papers and slides, and a picture of letters for the
// terminal. Drawn by gnuplot, which need not be installed for anything else.
#pragma once

#include <string>
#include <vector>

#include "reporters/roofline/chart.h"
#include "reporters/roofline/sweep_line.h"

namespace dlroof::figure {

struct FigureChoice {
  std::optional<Level> level;  // whose bytes; absent: those that most records know
  bool all_levels = false;     // one point per level, all at a record's height, coloured by level
  std::string sweep;           // a parameter (sweep_line.h): its lines alone; empty: every record
  const roofline::PlacedRun* before = nullptr;  // an older run: a line from each record's point there to its
                                      // point here
};

// Writes the classic roofline and the time-based one beside it, of the machine and number of
// threads that most records belong to. The format follows from the extension: .svg, .pdf or .png.
// Throws BadInput: another extension, nothing to draw, gnuplot missing or failing, `path` not
// writable (no file is left behind).
void WriteFigure(const roofline::PlacedRun& run, const std::string& path, const FigureChoice& choice = {});

// The classic roofline in `width` [columns] of text, a letter per series, with its legend. Throws
// BadInput: nothing to draw, gnuplot missing or failing.
std::string TerminalPicture(const roofline::PlacedRun& run, int width);

struct Figure {
  roofline::RoofSet roofs;
  Level level = Level::kDram;
  std::vector<roofline::Roof> flats;  // of pipes in use with the roof above finer rows, or all plain ones;
                            // highest first
  std::vector<roofline::ClassicMark> classic;
  std::vector<roofline::TimeMark> time;
  std::string caption;
  bool all_levels = false;
  std::string sweep;             // the parameter's name
  std::vector<roofline::SweepLine> lines;  // empty without a sweep
  std::vector<std::pair<std::pair<double, double>, std::pair<double, double>>> classic_moves,
      time_moves;                // from before to now
  std::optional<roofline::Roof> one_flat;  // that all time marks are judged by: seconds are FLOPs then
};
Figure MakeFigure(const roofline::PlacedRun& run, const FigureChoice& choice = {});

// Returns the roofs of the pipes in use, or of all plain ones; above a finer row that judges also
// the machine's own roof, which the measured knee runs to. Highest first.
std::vector<roofline::Roof> DrawnFlats(const roofline::PlacedRun& run, const roofline::RoofSet& roofs);

// Returns "svg", "pdf" or "png". Throws BadInput for a path that ends otherwise.
std::string FigureExtension(const std::string& path);

// gnuplot scripts; text of the file stands in them only as GnuplotText.
std::string FigureScript(const Figure& figure, const std::string& extension);
std::string TerminalScript(const Figure& figure, int width);

}  // namespace dlroof::figure
