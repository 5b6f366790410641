#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "reporters/figure/figure.h"

namespace dlroof::figure {
namespace {

// Colours like those of the hierarchical roofline paper: L1 blue, L2 red, the farthest level green.
constexpr std::pair<std::string_view, std::string_view> kLevelColours[] = {{"L1", "#0072b2"},
                                                                           {"L2", "#d55e00"},
                                                                           {"L3", "#b5468f"},
                                                                           {"DRAM", "#009e73"},
                                                                           {"HOST", "#6b7280"}};
constexpr std::size_t kMaxSeries = 18;   // largest number of series in the legend
constexpr std::size_t kMaxCrosses = 60;  // with more time marks there are no crosses (overlap)

// gnuplot's hollow point types. The filled type of a hollow type is the next number.
constexpr std::array<int, 7> kShapes = {6, 4, 10, 8, 12, 14, 2};

// Style of a series: colour by op and direction, shape by type; only measured marks are filled.
struct Style {
  std::string_view colour;
  int hollow = 6;  // gnuplot's point type; the filled type is the next number
};

std::string_view ColourOf(const std::string& family, std::size_t index) {
  for (const auto& [level, colour] : kLevelColours)
    if (level == family) return colour;
  return SeriesColour(index);
}

std::map<std::string, Style> Styles(const std::set<std::string>& series) {
  static const std::map<std::string_view, int> shapes = {
      {"f32", 6}, {"bf16", 4}, {"int8", 12}, {"f16", 8}};
  std::map<std::string, std::size_t> families;
  std::map<std::string, Style> styles;
  for (const auto& name : series) {
    const auto space = name.find_last_of(' ');
    const auto family = name.substr(0, space);
    const auto index = families.try_emplace(family, families.size()).first->second;
    const auto shape =
        space == std::string::npos ? shapes.end() : shapes.find(name.substr(space + 1));
    const int other = space == std::string::npos ? 6 : 10;
    styles[name] = {ColourOf(family, index), shape == shapes.end() ? other : shape->second};
  }
  return styles;
}

void AddMarks(const std::string& block, const std::vector<Point>& points, const Style& style,
              bool measured, const std::string& title, double size, Plot& plot) {
  if (points.empty()) return;
  Draw(block, {points},
       fmt::format("with points pt {} ps {} lw 1.4 lc rgb '{}' {}",
                   style.hollow + (measured ? 1 : 0), size, style.colour,
                   title.empty() ? "notitle" : "title " + GnuplotText(title) + " noenhanced"),
       plot);
}

template <typename Mark, typename Where>
void AddSeries(const std::string& prefix, const std::vector<Mark>& marks, const Figure& figure,
               bool titled, Where where, Plot& plot, double size = 0.8) {
  std::set<std::string> series;
  for (const auto& mark : figure.classic) series.insert(mark.series);
  const auto styles = Styles(series);
  std::size_t index = 0;
  for (const auto& [name, style] : styles) {
    bool named = !titled || index >= kMaxSeries;
    for (const auto& [measured, pale] : {std::pair(false, false), std::pair(true, false),
                                         std::pair(false, true), std::pair(true, true)}) {
      std::vector<Point> points;
      for (const auto& mark : marks)
        if (mark.series == name && mark.measured == measured && mark.noisy == pale)
          if (const std::optional<Point> point = where(mark)) points.push_back(*point);
      const auto colour = Shade(style.colour, pale);
      AddMarks(fmt::format("{}{}_{}", prefix, index, (pale ? 2 : 0) + (measured ? 1 : 0)), points,
               {colour, style.hollow}, measured, named ? "" : name, size, plot);
      named = named || !points.empty();
    }
    ++index;
  }
}

std::string TypeOf(const std::string& series) {
  return series.substr(series.find_last_of(' ') + 1);
}

// Returns the two types of a sweep's lines {hollow, filled} if the fill of marks can show them:
// there are exactly two types, and every mark is measured. Otherwise returns an empty vector.
std::vector<std::string> FillTypes(const Figure& figure) {
  std::set<std::string> types;
  for (const auto& line : figure.lines) types.insert(TypeOf(line.series));
  const bool measured = std::ranges::all_of(figure.classic, &roofline::ClassicMark::measured);
  if (!measured || types.size() != 2) return {};
  return types.count("f32") > 0 && *types.begin() != "f32"
             ? std::vector<std::string>{"f32", *types.begin()}
             : std::vector<std::string>(types.begin(), types.end());
}

// Style of a sweep. The colour shows the series (without its type if the fill shows the type); the
// shape shows the value of the swept parameter.
struct SweepStyle {
  std::vector<std::string> fill;
  std::map<std::string, std::size_t> colours = {};
  std::set<double> values = {};

  explicit SweepStyle(const Figure& figure) : fill(FillTypes(figure)) {
    for (const auto& line : figure.lines) {
      colours.try_emplace(FamilyOf(line), colours.size());
      values.insert(line.values.begin(), line.values.end());
    }
  }

  std::string FamilyOf(const roofline::SweepLine& line) const {
    return fill.empty() ? line.series : line.series.substr(0, line.series.find_last_of(' '));
  }
  std::string_view Colour(const roofline::SweepLine& line) const {
    return SeriesColour(colours.at(FamilyOf(line)));
  }
  int Shape(double value) const {
    const auto index = std::distance(values.begin(), values.find(value));
    return kShapes[static_cast<std::size_t>(index) % kShapes.size()];
  }
  bool Filled(const roofline::SweepLine& line, bool measured) const {
    return fill.empty() ? measured : TypeOf(line.series) == fill[1];
  }
};

// Adds each line of the sweep and its marks, in one data block with the marks' types and colours.
template <typename Mark, typename Where>
void AddSweep(const std::string& prefix, const std::vector<Mark>& marks, const Figure& figure,
              Where where, Plot& plot) {
  const SweepStyle style(figure);
  int index = 0;
  for (const auto& line : figure.lines) {
    const auto name = fmt::format("{}line{}", prefix, index++);
    std::string block;
    for (std::size_t i = 0; i < line.records.size(); ++i)
      for (const Mark& mark : marks) {
        if (mark.record != line.records[i]) continue;
        const std::optional<Point> point = where(mark);
        if (!point) continue;
        const int type = style.Shape(line.values[i]) + (style.Filled(line, mark.measured) ? 1 : 0);
        block += fmt::format("{:.9g} {:.9g} {} 0x{}\n", point->first, point->second, type,
                             Shade(style.Colour(line), mark.noisy).substr(1));
      }
    DrawRows(name, block, fmt::format("with lines lw 1.2 lc rgb '{}' notitle", style.Colour(line)),
             plot);
    plot.elements.push_back(fmt::format(
        "${} using 1:2:3:4 with points pt variable ps 0.9 lw 1.4 lc rgb variable notitle", name));
  }
}

void AddSweepLegend(const Figure& figure, Plot& plot) {
  const SweepStyle style(figure);
  for (const auto& [family, index] : style.colours)
    plot.elements.push_back(fmt::format("keyentry with lines lw 3 lc rgb '{}' title {} noenhanced",
                                        SeriesColour(index), GnuplotText(family)));
  for (const double value : style.values)
    plot.elements.push_back(
        fmt::format("keyentry with points pt {} lc rgb '#5b6675' title {} noenhanced",
                    style.Shape(value), GnuplotText(fmt::format("{} {:g}", figure.sweep, value))));
}

// Draws confidence intervals as vectors, because yerrorbars draws a white box around each symbol.
void AddIntervals(const Figure& figure, Plot& plot) {
  std::string bars;
  for (const auto& mark : figure.classic)
    if (mark.ci95)
      bars += fmt::format("{:.9g} {:.9g} 0 {:.9g}\n", mark.intensity, mark.ci95->first,
                          mark.ci95->second - mark.ci95->first);
  if (!bars.empty())
    DrawRows("bars", bars, "with vectors nohead lc rgb '#8b96a5' lw 0.7 notitle", plot);
}

void AddMoves(const std::string& name, const std::vector<std::pair<Point, Point>>& moves,
              Plot& plot) {
  if (moves.empty()) return;
  std::string block;
  for (const auto& [before, now] : moves) block += ArrowRow(before, now);
  DrawRows(name, block,
           "with vectors head filled size screen 0.008,20 lw 1.2 lc rgb '#5b6675' notitle", plot);
}

// Joins the points of each record (one per level, all with the same FLOP/s) by a line.
void AddLevelJoints(const Figure& figure, Plot& plot) {
  std::map<std::size_t, std::vector<Point>> joints;
  for (const auto& mark : figure.classic)
    joints[mark.record].emplace_back(mark.intensity, mark.flops_per_second);
  std::vector<std::vector<Point>> lines;
  for (auto& [record, points] : joints) {
    std::ranges::sort(points);
    lines.push_back({points.front(), points.back()});
  }
  Draw("joints", lines, "with lines lc rgb '#b6bec9' lw 1 notitle", plot);
}

// Adds crosses at PipesUntil() on the line through each record's complexity point and time point.
void AddPipeCrosses(const Figure& figure, Plot& plot) {
  std::vector<Point> crosses;
  for (const auto& mark : figure.time)
    for (const double seconds : mark.pipes_until)
      crosses.emplace_back(seconds * mark.complexity.first / mark.complexity.second, seconds);
  if (crosses.empty() || figure.time.size() > kMaxCrosses) return;
  Draw("pipes", {crosses}, "with points pt 2 ps 0.5 lc rgb '#5b6675' notitle", plot);
}

// Draws a dot at the complexity point of each record with this TimeMark::at_least, and a line from
// it to the time point. If `at_least` (the distance is a lower limit), the line is dashed.
void AddDistances(const std::string& block, const Figure& figure, bool at_least, Plot& plot) {
  std::vector<std::vector<Point>> distances;
  for (const auto& mark : figure.time)
    if (mark.at_least == at_least)
      distances.push_back({mark.complexity, mark.point.value_or(mark.complexity)});
  if (distances.empty()) return;
  Draw(block, distances,
       fmt::format("with lines lc rgb '#8b96a5' lw 1 {}notitle", at_least ? "dt 2 " : ""), plot);
  plot.elements.push_back(
      fmt::format("${} every ::0::0 with points pt 7 ps 0.3 lc rgb '#5b6675' notitle", block));
}

}  // namespace

void AddClassicMarks(const Figure& figure, Plot& plot) {
  AddIntervals(figure, plot);
  if (figure.all_levels) AddLevelJoints(figure, plot);
  AddMoves("moves", figure.classic_moves, plot);
  const auto where = [](const roofline::ClassicMark& m) {
    return std::optional<Point>({m.intensity, m.flops_per_second});
  };
  if (figure.lines.empty()) {
    AddSeries("classic", figure.classic, figure, true, where, plot);
    return;
  }
  AddSweep("classic", figure.classic, figure, where, plot);
  AddSweepLegend(figure, plot);
}

void AddTimeMarks(const Figure& figure, Plot& plot) {
  AddDistances("distances", figure, false, plot);
  AddDistances("limits", figure, true, plot);
  if (figure.all_levels)
    AddSeries(
        "roof", figure.time, figure, false,
        [](const roofline::TimeMark& m) { return std::optional<Point>(m.complexity); }, plot, 0.4);
  AddPipeCrosses(figure, plot);
  AddMoves("timemoves", figure.time_moves, plot);
  const auto where = [](const roofline::TimeMark& m) { return m.point; };
  if (figure.lines.empty())
    AddSeries("time", figure.time, figure, false, where, plot);
  else
    AddSweep("time", figure.time, figure, where, plot);
}

std::string FillLegend(const Figure& figure) {
  const auto types = figure.lines.empty() ? std::vector<std::string>() : FillTypes(figure);
  const bool pale = std::ranges::any_of(
      figure.classic, [](const roofline::ClassicMark& mark) { return mark.noisy; });
  const bool limits = std::ranges::any_of(
      figure.time, [](const roofline::TimeMark& mark) { return mark.at_least; });
  return fmt::format("hollow: {}, filled: {}{}{}", types.empty() ? "modelled" : types[0],
                     types.empty() ? "measured" : types[1], pale ? ", pale: noisy (estimate)" : "",
                     limits ? ", dashed: a lower limit (roof not validated)" : "");
}

}  // namespace dlroof::figure
