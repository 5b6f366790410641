#include "reporters/figure/cluster_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "counters/base/error.h"
#include "reporters/figure/figure.h"
#include "reporters/figure/panel.h"

namespace dlroof::figure {
namespace {

constexpr std::size_t kMaxNamedNodes = 30, kMaxNamedBenchmarks = 24;
constexpr std::size_t kLongestName = 30;  // [1] characters that fit below the map
constexpr std::size_t kLongestNode = 18;  // [1] characters that fit beside the map
// Larger maps are drawn as an image, which viewers blur when they enlarge it.
constexpr std::size_t kMaxRectangles = 20000;
constexpr double kMinScale = 5, kMaxScale = 50;  // [%] bounds of the colour scale
constexpr double kShown = 0.98;                  // [1] share of cells within the scale

// Returns the end of the colour scale [%].
double ScaleOf(const NodeMap& map) {
  std::vector<double> sizes;
  for (const auto& row : map.slower)
    for (const auto& cell : row)
      if (cell) sizes.push_back(std::abs(*cell));
  if (sizes.empty()) return kMinScale;
  const auto at = sizes.begin() + static_cast<long>(kShown * static_cast<double>(sizes.size() - 1));
  std::ranges::nth_element(sizes, at);
  return std::clamp(std::ceil(*at), kMinScale, kMaxScale);
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
  if (named) return Tics(map.benchmarks, kMaxNamedBenchmarks) + " rotate by 35 right";
  std::vector<std::string> numbers;
  for (std::size_t i = 0; i < map.benchmarks.size(); ++i) numbers.push_back(std::to_string(i + 1));
  return Tics(numbers, kMaxNamedBenchmarks) + " norotate";
}

bool AreNamed(const NodeMap& map) {
  return map.benchmarks.size() <= kMaxNamedBenchmarks &&
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
      Tics(NodeLabels(map.nodes), kMaxNamedNodes),
      named ? "" : "benchmark, by its number in the table",
      map.benchmarks.size() * map.nodes.size() > kMaxRectangles ? "" : "pixels");
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

}  // namespace dlroof::figure
