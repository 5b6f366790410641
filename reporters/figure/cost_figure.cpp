#include "reporters/figure/cost_figure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "counters/base/error.h"
#include "reporters/figure/colours.h"
#include "reporters/figure/gnuplot.h"
#include "reporters/figure/panel.h"

namespace dlroof {
namespace {

constexpr std::size_t kMostNames = 12;  // of the points of a line

// Columns: seconds, cost, gnuplot's point type, and the number of nodes, which may be empty.
std::string CostBlock(const CostFigureLine& line, std::size_t number) {
  std::string block = fmt::format("$cost{} << EOD\n", number);
  const auto step = (line.points.size() + kMostNames - 1) / kMostNames;
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    const auto& point = line.points[i];
    block += fmt::format("{:.9g} {:.9g} {} {}\n", point.seconds, point.cost, point.best ? 7 : 6,
                         i % step == 0 ? fmt::format("{}", point.nodes) : "\"\"");
  }
  return block + "EOD\n";
}

std::string CostElements(const CostFigureLine& line, std::size_t number) {
  return fmt::format(
      "$cost{0} using 1:2 with lines lc rgb '{1}' lw 1.5 title {2}, "
      "$cost{0} using 1:2:3 with points pt variable ps 0.9 lw 1.5 lc rgb '{1}' notitle, "
      "$cost{0} using 1:2:4 with labels font ',9' tc rgb '{1}' offset 0,{3} notitle",
      number, SeriesColour(number), GnuplotText(line.title), number % 2 == 0 ? "0.8" : "-0.8");
}

}  // namespace

std::string CostFigureScript(const CostFigure& figure, const std::string& extension) {
  std::string blocks;
  std::vector<std::string> elements;
  for (std::size_t i = 0; i < figure.lines.size(); ++i) {
    if (figure.lines[i].points.empty()) continue;
    blocks += CostBlock(figure.lines[i], i);
    elements.push_back(CostElements(figure.lines[i], i));
  }
  if (elements.empty()) throw BadInput("figure: no cluster has a price");
  return SetTerminal(extension, 860, 620) + blocks +
         "set logscale xy\nset border 3\nset tics nomirror\nset format '%.0s%c'\n"
         "set grid lc rgb '#dfe4ea' lt 1\nset bmargin at screen 0.26\nset "
         "offsets graph 0.05, graph 0.05, graph 0.12, graph 0.12\n"
         "set key at screen 0.5,0.1 center center vertical maxrows 4 font ',10' noenhanced\n"
         "set title 'Cost against time. Filled: no other number of nodes is both faster and "
         "cheaper'\nset xlabel " +
         GnuplotText("time (s) for " + figure.work) + "\nset ylabel " +
         GnuplotText(fmt::format("cost ({}) of {}", figure.currency, figure.work)) +
         "\nset label " + GnuplotText("numbers: nodes; " + figure.caption) +
         " at screen 0.5,0.02 center font ',9' noenhanced\n" +
         fmt::format("plot {}\n", fmt::join(elements, ", \\\n  "));
}

}  // namespace dlroof
