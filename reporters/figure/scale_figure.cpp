#include "reporters/figure/scale_figure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "counters/base/error.h"
#include "reporters/figure/gnuplot.h"
#include "reporters/figure/panel.h"

namespace dlroof {
namespace {

constexpr std::array kBandColours = {"#0072b2", "#d55e00", "#009e73",
                                     "#cc79a7", "#e69f00", "#56b4e9"};

// Columns: nodes, none, bucketed, full, as if no node waited for the network.
std::string BandBlock(const ScaleFigureBand& band, std::size_t number) {
  std::string block = fmt::format("$band{} << EOD\n", number);
  const auto& first = band.points.front();
  for (const auto& point : band.points)
    block += fmt::format("{} {:.9g} {:.9g} {:.9g} {:.9g}\n", point.nodes, point.none,
                         point.bucketed, point.full, first.full * point.nodes / first.nodes);
  return block + "EOD\n";
}

std::string BandElements(const ScaleFigureBand& band, std::size_t number) {
  const auto* colour = kBandColours[number % kBandColours.size()];
  return fmt::format(
      "$band{0} using 1:2:4 with filledcurves fc rgb '{1}' fs transparent solid 0.2 noborder "
      "notitle, $band{0} using 1:3 with linespoints lc rgb '{1}' lw 1.5 pt 7 ps 0.5 title {2}, "
      "$band{0} using 1:5 with lines lc rgb '{1}' dt 3 notitle",
      number, colour, GnuplotText(band.title));
}

// Shapes tell them apart; the bands have the colours.
std::string MarkBlock(const ScaleFigureMark& mark, std::size_t number) {
  std::string block = fmt::format("$measured{} << EOD\n", number);
  for (const auto& [nodes, samples] : mark.points)
    block += fmt::format("{} {:.9g}\n", nodes, samples);
  return block + "EOD\n";
}

std::string MarkElements(const ScaleFigureMark& mark, std::size_t number) {
  constexpr std::array kPointShapes = {13, 5, 9, 11};
  return fmt::format("$measured{} using 1:2 with points lc rgb '#1b2733' pt {} ps 1.2 title {}",
                     number, kPointShapes[number % kPointShapes.size()], GnuplotText(mark.label));
}

}  // namespace

std::string ScaleFigureScript(const ScaleFigure& figure, const std::string& extension) {
  if (figure.bands.empty()) throw BadInput("figure: no model has a training step on any nodes");
  std::string blocks;
  std::vector<std::string> elements;
  for (std::size_t i = 0; i < figure.bands.size(); ++i) {
    blocks += BandBlock(figure.bands[i], i);
    elements.push_back(BandElements(figure.bands[i], i));
  }
  for (std::size_t i = 0; i < figure.measured.size(); ++i) {
    blocks += MarkBlock(figure.measured[i], i);
    elements.push_back(MarkElements(figure.measured[i], i));
  }
  return SetTerminal(extension, 860, 620) + blocks +
         "set logscale xy\nset border 3\nset tics nomirror\nset format y '%.0s%c'\n"
         "set grid lc rgb '#dfe4ea' lt 1\nset key left top noenhanced\nset bmargin 5\n"
         "set xlabel 'nodes'\nset ylabel 'samples per second, of all nodes'\n"
         "set title 'Band: no overlap of network and computing to all of it. Line: buckets. "
         "Dotted: no network'\nset label " +
         GnuplotText(figure.caption) +
         " at screen 0.5,0.02 center font ',9' noenhanced\n"
         "set xrange [*:*]\nset yrange [*:*]\n" +
         fmt::format("plot {}\n", fmt::join(elements, ", "));
}

}  // namespace dlroof
