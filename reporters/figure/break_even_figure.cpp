#include "reporters/figure/break_even_figure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "counters/base/error.h"
#include "reporters/figure/colours.h"
#include "reporters/figure/gnuplot.h"
#include "reporters/figure/panel.h"

namespace dlroof {
namespace {

constexpr std::size_t kMostRows = 3;
constexpr int kRowPixels = 400, kCaptionPixels = 40;
constexpr std::string_view kInk = "#27313d";

std::string BandBlockOf(const std::string& name, const std::vector<BreakEvenPoint>& points) {
  std::string block = fmt::format("${} << EOD\n", name);
  for (const auto& point : points)
    block +=
        fmt::format("{} {:.9g} {:.9g} {:.9g}\n", point.nodes, point.low, point.middle, point.high);
  return block + "EOD\n";
}

void AddBand(const std::string& name, const std::vector<BreakEvenPoint>& points, std::size_t colour,
             const std::string& title, Plot& plot) {
  if (points.empty()) return;
  plot.blocks += BandBlockOf(name, points);
  plot.elements.push_back(fmt::format(
      "${0} using 1:2:4 with filledcurves fc rgb '{1}' fs transparent solid 0.2 noborder notitle, "
      "${0} using 1:3 with linespoints lc rgb '{1}' lw 1.5 pt 7 ps 0.5 title {2}",
      name, SeriesColour(colour), GnuplotText(title)));
}

// Returns the text with apostrophes that a figure can show.
std::string WithApostrophes(std::string text) {
  for (auto at = text.find('\''); at != std::string::npos; at = text.find('\''))
    text.replace(at, 1, "\u2019");
  return text;
}

int MostNodes(const BreakEvenPanel& panel) {
  int most = panel.nodes.value_or(1);
  for (const auto* points : {&panel.ours, &panel.theirs})
    if (!points->empty()) most = std::max(most, points->back().nodes);
  return std::max(most, 2);
}

// A flat line over the whole chart.
void AddFlat(const std::string& name, double value, int most, const char* dashes,
             const std::string& title, Plot& plot) {
  plot.blocks += Block(name, {{{1, value}, {most, value}}});
  plot.elements.push_back(fmt::format("${} with lines lc rgb '{}' lw 1.2 dt {} title {}", name,
                                      kInk, dashes, GnuplotText(title)));
}

// One chart in its place. `x`, `y`: its lower left corner, as shares of the figure.
std::string Chart(const BreakEvenRow& row, const BreakEvenPanel& panel, const std::string& name,
                  const std::string& what, double x, double y, double height) {
  Plot plot;
  AddBand(name + "ours", panel.ours, 0, row.ours, plot);
  AddBand(name + "theirs", panel.theirs, 1, row.theirs, plot);
  const int most = MostNodes(panel);
  if (panel.goal > 0) AddFlat(name + "goal", panel.goal, most, "2", row.goal, plot);
  if (panel.floor)
    AddFlat(name + "floor", *panel.floor, most, "3", "least time of an allreduce", plot);
  std::string result = "break-even: " + WithApostrophes(panel.why_not);
  if (panel.nodes) {
    result = fmt::format("break-even: {} node{}", *panel.nodes, *panel.nodes == 1 ? "" : "s");
    plot.blocks +=
        fmt::format("${0}cross << EOD\n{1} {2:.9g}\nEOD\n", name, *panel.nodes, panel.goal);
    plot.elements.push_back(
        fmt::format("${}cross with impulses lc rgb '{}' dt 3 notitle, ${}cross with points pt 6 "
                    "ps 1.8 lw 2 lc rgb '{}' notitle",
                    name, kInk, name, kInk));
  }
  return plot.blocks +
         fmt::format(
             "set origin {:.4f},{:.4f}\nset size 0.5,{:.4f}\nset xrange [0.9:{:g}]\n"
             "set yrange [*:*]\nset offsets 0,0,graph 0.05,graph 0.05\nset ylabel '{}' font ',10'\n"
             "set title {} font ',11' offset 0,0.7\nset label 2 {} at graph 0.5,1.03 center font "
             "',9' noenhanced\nplot {}\n",
             x, y, height, 1.1 * most, what, GnuplotText(panel.title), GnuplotText(result),
             fmt::join(plot.elements, ", \\\n  "));
}

}  // namespace

std::string BreakEvenScript(const BreakEvenFigure& figure, const std::string& extension) {
  if (figure.rows.empty()) throw BadInput("figure: no model has a training step on both clusters");
  const auto count = std::min(kMostRows, figure.rows.size());
  const int height = static_cast<int>(count) * kRowPixels + kCaptionPixels;
  const double share = static_cast<double>(kRowPixels) / height;
  std::string charts;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& row = figure.rows[i];
    const double y = 1 - static_cast<double>(i + 1) * share;
    charts +=
        Chart(row, row.rate, fmt::format("rate{}", i), "samples/s of all nodes", 0, y, share) +
        "unset label 1\n" +
        Chart(row, row.time, fmt::format("time{}", i), "time of a step [s]", 0.5, y, share);
  }
  const auto more = figure.rows.size() - count;
  const auto caption =
      figure.caption + (more > 0 ? fmt::format("; {} more in the tables", more) : std::string());
  return SetTerminal(extension, 1080, height) +
         "set multiplot\nset key bmargin center horizontal maxcols 2 font ',9' noenhanced\n"
         "set logscale xy\nset border 3\nset tics nomirror font ',10'\n"
         "set xlabel 'nodes' font ',10'\nset format y '%.0s%c'\nset grid lc rgb '#dfe4ea' lt 1\n"
         "set label 1 " +
         GnuplotText(caption) + " at screen 0.5,0.015 center font ',9' noenhanced\n" + charts +
         "unset multiplot\n";
}

}  // namespace dlroof
