#include "reporters/figure/cluster_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/figure/figure.h"
#include "reporters/figure/panel.h"

namespace dlroof::figure {
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

// Replaces apostrophes by U+2019, since GnuplotText() would remove them.
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

// Adds a horizontal line across the chart.
void AddFlat(const std::string& name, double value, int most, const char* dashes,
             const std::string& title, Plot& plot) {
  plot.blocks += Block(name, {{{1, value}, {most, value}}});
  plot.elements.push_back(fmt::format("${} with lines lc rgb '{}' lw 1.2 dt {} title {}", name,
                                      kInk, dashes, GnuplotText(title)));
}

// Returns one chart. `x`, `y` and `height` are shares of the figure; `x`, `y` is the lower left
// corner.
std::string Chart(const BreakEvenRow& row, const BreakEvenPanel& panel, const std::string& name,
                  const std::string& what, double x, double y, double height) {
  Plot plot;
  AddBand(name + "ours", panel.ours, 0, row.ours, plot);
  AddBand(name + "theirs", panel.theirs, 1, row.theirs, plot);
  const int most = MostNodes(panel);
  if (panel.goal > 0) AddFlat(name + "goal", panel.goal, most, "2", row.goal, plot);
  if (panel.floor)
    AddFlat(name + "floor", *panel.floor, most, "3", "minimum time of an allreduce", plot);
  std::string result = "break-even: ";
  if (panel.reason) result += WithApostrophes(panel.reason->text);
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

constexpr std::size_t kMostNames = 12;  // most labels on one line

// Returns a data block: seconds, cost, gnuplot's point type, and the label (number of nodes), which
// may be empty.
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

constexpr std::array kBandColours = {"#0072b2", "#d55e00", "#009e73",
                                     "#cc79a7", "#e69f00", "#56b4e9"};

// Returns a data block: nodes, rates by overlap (none, bucketed, full), rate without network time.
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

// Measured points differ by shape, since the bands use the colours.
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

constexpr std::size_t kMostNamedNodes = 30, kMostNamedBenchmarks = 24;
constexpr std::size_t kLongestName = 30;  // [1] characters that fit below the map
constexpr std::size_t kLongestNode = 18;  // [1] characters that fit beside the map
// Larger maps are drawn as an image, which viewers blur when they enlarge it.
constexpr std::size_t kMostRectangles = 20000;
constexpr double kLeastScale = 5, kMostScale = 50;  // [%] bounds of the colour scale
constexpr double kShown = 0.98;                     // [1] share of cells within the scale

// Returns the end of the colour scale [%].
double ScaleOf(const NodeMap& map) {
  std::vector<double> sizes;
  for (const auto& row : map.slower)
    for (const auto& cell : row)
      if (cell) sizes.push_back(std::abs(*cell));
  if (sizes.empty()) return kLeastScale;
  const auto at = sizes.begin() + static_cast<long>(kShown * static_cast<double>(sizes.size() - 1));
  std::ranges::nth_element(sizes, at);
  return std::clamp(std::ceil(*at), kLeastScale, kMostScale);
}

// Returns tics for at most `most` of the names, evenly spread.
std::string Tics(const std::vector<std::string>& names, std::size_t most) {
  const std::size_t step = (names.size() + most - 1) / most;
  std::vector<std::string> tics;
  for (std::size_t i = 0; i < names.size(); i += std::max<std::size_t>(step, 1))
    tics.push_back(fmt::format("{} {}", GnuplotText(names[i]), i));
  return fmt::format("({})", fmt::join(tics, ", "));
}

// Returns the domain, such as ".cluster.org", that all of several names share; else an empty text.
std::string SharedDomain(const std::vector<std::string>& nodes) {
  const auto dot = nodes.front().find('.');
  if (nodes.size() < 2 || dot == std::string::npos || dot == 0) return "";
  auto domain = nodes.front().substr(dot);
  const bool shared = std::ranges::all_of(nodes, [&](const auto& name) {
    return name.size() > domain.size() && name.ends_with(domain);
  });
  return shared ? domain : "";
}

// Returns names that fit beside the map: without a shared domain, and of longer ones the end.
std::vector<std::string> NodeLabels(std::vector<std::string> nodes) {
  const auto domain = SharedDomain(nodes);
  for (auto& name : nodes) {
    name.resize(name.size() - domain.size());
    if (name.size() <= kLongestNode) continue;
    auto begin = name.size() - kLongestNode + 1;
    while (begin < name.size() && (static_cast<unsigned char>(name[begin]) & 0xC0) == 0x80) ++begin;
    name = "\u2026" + name.substr(begin);
  }
  return nodes;
}

// Returns tics with the names of the benchmarks, or with their numbers from 1.
std::string BenchmarkTics(const NodeMap& map, bool named) {
  if (named) return Tics(map.benchmarks, kMostNamedBenchmarks) + " rotate by 35 right";
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < map.benchmarks.size(); ++i) numbers.push_back(std::to_string(i + 1));
  return Tics(numbers, kMostNamedBenchmarks) + " norotate";
}

bool AreNamed(const NodeMap& map) {
  return map.benchmarks.size() <= kMostNamedBenchmarks &&
         std::ranges::all_of(map.benchmarks,
                             [](const auto& name) { return name.size() <= kLongestName; });
}

// Returns a block with a row per node and a column per benchmark.
std::string Cells(const NodeMap& map) {
  std::string block = "$cells << EOD\n";
  for (std::size_t node = 0; node < map.nodes.size(); ++node) {
    for (const auto& row : map.slower)
      block += row[node] ? fmt::format("{:.6g} ", *row[node]) : std::string("NaN ");
    block += '\n';
  }
  return block + "EOD\n";
}

std::string RoofPoints(const NodeMap& map) {
  std::string block = "$roofs << EOD\n";
  for (std::size_t i = 0; i < map.roofs.size(); ++i) {
    const auto& values = map.roofs[i].second;
    for (std::size_t j = 0; j < values.size(); ++j) {
      // Spreads the nodes within the column of the roof, so that equal values do not overlap.
      const double aside =
          values.size() < 2
              ? 0
              : 0.6 * (static_cast<double>(j) / static_cast<double>(values.size() - 1) - 0.5);
      block += fmt::format("{:.6g} {:.6g}\n", static_cast<double>(i) + aside, values[j]);
    }
  }
  return block + "EOD\n";
}

std::string MapPanel(const NodeMap& map) {
  const double scale = ScaleOf(map);
  const bool named = AreNamed(map);
  return fmt::format(
      "set lmargin at screen 0.12\nset rmargin at screen 0.9\nset tmargin at screen 0.94\n"
      "set bmargin at screen 0.52\nset title 'Time of each benchmark on each node, % more than the "
      "median node'\nset palette defined (-1 '#0072b2', 0 '#ffffff', 1 '#d55e00')\n"
      "set cbrange [-{0:g}:{0:g}]\nset xrange [-0.5:{1}.5]\nset yrange [{2}.5:-0.5]\n"
      "set xtics {3} font ',8'\nset ytics {4} font ',9'\n"
      "set xlabel '{5}'\nplot $cells matrix with image {6} notitle\nunset xlabel\n",
      scale, map.benchmarks.size() - 1, map.nodes.size() - 1, BenchmarkTics(map, named),
      Tics(NodeLabels(map.nodes), kMostNamedNodes),
      named ? "" : "benchmark, by its number in the table",
      map.benchmarks.size() * map.nodes.size() > kMostRectangles ? "" : "pixels");
}

std::string RoofPanel(const NodeMap& map) {
  if (map.roofs.empty()) return "";
  std::vector<std::string> names;
  for (const auto& [name, values] : map.roofs) names.push_back(name);
  return fmt::format(
      "unset colorbox\nset tmargin at screen 0.32\nset bmargin at screen 0.13\n"
      "set title 'Each roof over nodes, % from the median'\nset xrange [-0.7:{}]\n"
      "set yrange [*:*] noreverse\nset xtics {} rotate by -20 font ',9'\n"
      "set ytics autofreq font ',9' format '%g'\nset grid ytics lc rgb '#dfe4ea' lt 1\n"
      "plot $roofs with points pt 7 ps 0.4 lc rgb '#0072b2' notitle\n",
      static_cast<double>(names.size()) - 0.3, Tics(names, names.size()));
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
         "set title 'Band: from no overlap of network and computation to full overlap. Line: "
         "bucketed. Dotted: no network'\nset label " +
         GnuplotText(figure.caption) +
         " at screen 0.5,0.02 center font ',9' noenhanced\n"
         "set xrange [*:*]\nset yrange [*:*]\n" +
         fmt::format("plot {}\n", fmt::join(elements, ", "));
}

std::string NodeMapScript(const NodeMap& map, const std::string& extension) {
  if (map.nodes.empty() || map.benchmarks.empty())
    throw BadInput("figure: no node has a benchmark with a time");
  return SetTerminal(extension, 980, 820) + Cells(map) + RoofPoints(map) +
         "set multiplot\nset border 3\nset tics nomirror\nset label " + GnuplotText(map.caption) +
         " at screen 0.5,0.02 center font ',9' noenhanced\n" + MapPanel(map) + "unset label\n" +
         RoofPanel(map) + "unset multiplot\n";
}

void WriteNodeMap(const NodeMap& map, const std::string& path) {
  const auto extension = FigureExtension(path);
  WriteFile(path, RunGnuplot(NodeMapScript(map, extension)));
}

}  // namespace dlroof::figure
