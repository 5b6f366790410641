#include "reporters/figure/node_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "reporters/figure/figure.h"
#include "reporters/figure/gnuplot.h"
#include "reporters/figure/panel.h"

namespace dlroof::figure {
namespace {

constexpr std::size_t kMostNamedNodes = 30, kMostNamedBenchmarks = 24;
constexpr std::size_t kLongestName = 30;  // [1] characters that fit below the map, aslant
// Cells up to which each is a rectangle: viewers blur the cells of a picture that they enlarge.
constexpr std::size_t kMostRectangles = 20000;
constexpr double kLeastScale = 5, kMostScale = 50;  // [%] at which the colours end
constexpr double kShown = 0.98;                     // [1] of the cells within the colours

// Returns where the colours end [%]: most cells lie within.
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

// Returns tics that name the benchmarks, or number them from 1 where names would not fit.
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

// A row of the block per node, a column per benchmark.
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
      // Nodes side by side within the roof's column, so that equal ones stay apart.
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
      Tics(map.nodes, kMostNamedNodes), named ? "" : "benchmark, by its number in the table",
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
