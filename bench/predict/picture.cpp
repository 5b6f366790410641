#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/predict/report.h"
#include "counters/base/error.h"
#include "reporters/figure/figure.h"
#include "reporters/figure/panel.h"
#include "reporters/text/text.h"

namespace dlroof::predict {
namespace {

std::string Terminal(const std::string& extension) {
  if (extension == "pdf") return "set terminal pdfcairo size 9in,5in font 'Helvetica,11'\n";
  if (extension == "png") return "set terminal pngcairo size 1100,600 font 'Helvetica,11'\n";
  return "set terminal svg size 1100,600 font 'Helvetica,13' background '#ffffff'\n";
}

std::string Common(const ModelReport& report) {
  return fmt::format(
      "set title {} noenhanced\nset ylabel 'speed-up [1]'\nset grid ytics\n"
      "set key tmargin center horizontal noenhanced\nset yrange [0:*]\n",
      figure::GnuplotText(report.base.gpu.name + ", " + report.choice + ": DeLTA-style model"));
}

// Returns a label with each part of "sm=2,dram=1.5" on its own line, so that labels fit side by
// side. It needs no escaping, because Rescaled accepts only resources and numbers.
std::string TickLabel(const std::string& design, size_t index) {
  std::string label;
  for (const char c : design) label += c == ',' ? std::string("\\n") : std::string(1, c);
  return fmt::format("{}\"{}\" {}", index == 0 ? "" : ", ", label, index);
}

std::string Bars(const ModelReport& report) {
  std::string data = "$designs << EOD\n", ticks;
  std::ptrdiff_t most_lines = 1;
  for (size_t d = 0; d < report.designs.size(); ++d) {
    const auto& result = report.designs[d];
    const auto& name = result.design.name;
    ticks += TickLabel(name, d);
    most_lines = std::max(most_lines, 1 + std::ranges::count(name, ','));
    for (size_t i = 0; i < report.groups.size(); ++i)
      data += fmt::format(" {:.6g}", report.groups[i].seconds / result.groups[i].seconds);
    data += "\n";
  }
  std::string plots;
  for (size_t i = 0; i < report.groups.size(); ++i)
    plots += fmt::format("$designs using {} title {} lc rgb '{}', ", i + 1,
                         figure::GnuplotText(report.groups[i].name), figure::SeriesColour(i));
  return data +
         fmt::format(
             "EOD\nset datafile separator whitespace\nset style data histograms\n"
             "set style histogram clustered gap 1\nset style fill solid 0.9\n"
             "set xrange [-0.6:{}]\nset bmargin {}\nset xtics nomirror scale 0 noenhanced ({})\n"
             "plot {}1 with lines lw 1.5 lc rgb '#6b7280' title 'as it is'\n",
             static_cast<double>(report.designs.size()) - 0.4, most_lines + 1, ticks, plots);
}

// Draws a line per group and value of the second resource. If there are several groups, each has a
// colour, and its lines have different dashes. Otherwise each line has its own colour.
std::string Lines(const ModelReport& report) {
  std::string data, plots;
  size_t index = 0;
  for (size_t group = 0; group < report.sweeps.size(); ++group) {
    const auto& sweep = report.sweeps[group];
    std::map<double, std::string> lines;
    for (const auto& point : sweep.points)
      lines[point.factors.size() > 1 ? point.factors[1] : 1] +=
          fmt::format("{:.6g} {:.6g}\n", point.factors[0], point.speedup);
    size_t of_group = 0;
    for (const auto& [second, line] : lines) {
      data += fmt::format("$line{} << EOD\n{}EOD\n", index, line);
      const auto title = report.axes.size() > 1
                             ? fmt::format("{}, {} x{}", sweep.group, report.axes[1].resource,
                                           text::ThreeDigits(second))
                             : sweep.group;
      const size_t colour = report.sweeps.size() > 1 ? group : of_group;
      plots += fmt::format("{}$line{} with linespoints dt {} pt 7 ps 0.6 lw 2 lc rgb '{}' title {}",
                           index == 0 ? "" : ", ", index, ++of_group, figure::SeriesColour(colour),
                           figure::GnuplotText(title));
      ++index;
    }
  }
  return data +
         fmt::format("set xlabel {} noenhanced\nplot ",
                     figure::GnuplotText(report.axes[0].resource + " (x of today)")) +
         plots + "\n";
}

}  // namespace

std::string FigureScript(const ModelReport& report, const std::string& extension) {
  if (report.designs.empty() && report.sweeps.empty())
    throw BadInput("a figure needs --scale or --sweep, and neither was given");
  return Terminal(extension) + Common(report) +
         (report.sweeps.empty() ? Bars(report) : Lines(report));
}

std::string ModelFigure(const ModelReport& report, const std::string& extension) {
  return figure::RunGnuplot(FigureScript(report, extension));
}

}  // namespace dlroof::predict
