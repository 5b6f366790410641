// A run file as a figure: SVG, PDF or PNG for papers and slides, and a picture of letters for the
// terminal. Drawn by gnuplot, which need not be installed for anything else.
//
// Runs gnuplot on a script and hands back what it drew.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reporters/roofline/chart.h"

namespace dlroof::figure {

struct FigureChoice {
  std::optional<Level> level;  // whose bytes; absent: those that most records know
  bool all_levels = false;     // one point per level, all at a record's height, coloured by level
  std::string sweep;           // a parameter (sweep_line.h): its lines alone; empty: every record
  const roofline::PlacedRun* before = nullptr;  // an older run: a line from each record's point
                                                // there to its point here
};

// Writes the classic roofline and the time-based one beside it, of the machine and number of
// threads that most records belong to. The format follows from the extension: .svg, .pdf or .png.
// Throws BadInput: another extension, nothing to draw, gnuplot missing or failing, `path` not
// writable (no file is left behind).
void WriteFigure(const roofline::PlacedRun& run, const std::string& path,
                 const FigureChoice& choice = {});

// The classic roofline in `width` [columns] of text, a letter per series, with its legend. Throws
// BadInput: nothing to draw, gnuplot missing or failing.
std::string TerminalPicture(const roofline::PlacedRun& run, int width);

struct Figure {
  roofline::RoofSet roofs;
  Level level = Level::kDram;
  std::vector<roofline::Roof> flats;  // of pipes in use with the roof above finer rows, or all
                                      // plain ones; highest first
  std::vector<roofline::ClassicMark> classic;
  std::vector<roofline::TimeMark> time;
  std::string caption;
  bool all_levels = false;
  std::string sweep;                       // the parameter's name
  std::vector<roofline::SweepLine> lines;  // empty without a sweep
  std::vector<std::pair<std::pair<double, double>, std::pair<double, double>>> classic_moves,
      time_moves;  // from before to now
  std::optional<roofline::Roof>
      one_flat;  // that all time marks are judged by: seconds are FLOPs then
};
Figure MakeFigure(const roofline::PlacedRun& run, const FigureChoice& choice = {});

// Returns the roofs of the pipes in use, or of all plain ones; above a finer row that judges also
// the machine's own roof, which the measured knee runs to. Highest first.
std::vector<roofline::Roof> DrawnFlats(const roofline::PlacedRun& run,
                                       const roofline::RoofSet& roofs);

// Returns "svg", "pdf" or "png". Throws BadInput for a path that ends otherwise.
std::string FigureExtension(const std::string& path);

// gnuplot scripts; text of the file stands in them only as GnuplotText.
std::string FigureScript(const Figure& figure, const std::string& extension);
std::string TerminalScript(const Figure& figure, int width);

// Standard output of `gnuplot` fed with `script`, which must not set an output file. Throws
// BadInput when gnuplot is not installed (one sentence with the cure), and when it fails or draws
// nothing (with its first message).
std::string RunGnuplot(const std::string& script);

// RunGnuplot's SVG of what `script` returns. Empty, with the sentence in `why` and on standard
// error, where either throws BadInput: a page can do without.
std::string PageFigure(const std::function<std::string()>& script, std::string& why);

// The text as a gnuplot literal in single quotes, made of harmless characters: letters, digits, "
// _.,:;/+-=()%<>|~*^#" and valid UTF-8 beyond ASCII; every other one becomes "_". Neither quotes,
// backticks nor newlines get through, so text of a file can never become a command.
std::string GnuplotText(std::string_view text);

}  // namespace dlroof::figure
