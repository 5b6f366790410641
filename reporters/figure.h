// A run file as a figure: SVG, PDF or PNG for papers and slides, and a picture of letters for the
// terminal. Drawn by gnuplot, which need not be installed for anything else.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reporters/chart.h"

namespace dlroof {

// Writes the classic roofline and the time-based one beside it, of the machine and number of
// threads that most records belong to and the level that most of them know. The format follows from
// the extension: .svg, .pdf or .png. Throws BadInput: another extension, nothing to draw, gnuplot
// missing or failing, `path` not writable (no file is left behind).
void WriteFigure(const nlohmann::json& run_file, const std::string& path);

// The classic roofline in `width` [columns] of text, a letter per series, with its legend. Throws
// BadInput: nothing to draw, gnuplot missing or failing.
std::string TerminalPicture(const nlohmann::json& run_file, int width);

// What a figure draws.
struct Figure {
  RoofSet roofs;
  Level level = Level::kDram;
  std::vector<Roof> flats;  // of pipes in use, or all plain ones; highest first
  std::vector<ClassicMark> classic;
  std::vector<TimeMark> time;
  std::string caption;
};
Figure MakeFigure(const nlohmann::json& run_file);

// gnuplot scripts; text of the file stands in them only as GnuplotText.
std::string FigureScript(const Figure& figure, const std::string& extension);
std::string TerminalScript(const Figure& figure, int width);

}  // namespace dlroof
