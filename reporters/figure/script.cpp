// The gnuplot scripts of figure.h. Roofs, marks and guide lines are data blocks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "reporters/figure/figure.h"
#include "reporters/text/text.h"

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

// gnuplot's hollow point types. The next number is the filled type (of the last, a cross: a star).
constexpr std::array<int, 7> kShapes = {6, 4, 10, 8, 12, 14, 2};

// Style of a series: colour by op and direction, shape by type; only measured marks are filled.
struct Style {
  std::string_view colour;
  int hollow = 6;  // gnuplot's point type, of kShapes
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

template <typename Mark, typename Where>
void AddSeries(const std::string& prefix, const std::vector<Mark>& marks, const Figure& figure,
               bool titled, Where where, Plot& plot, double size = 0.8) {
  std::set<std::string> series;
  for (const auto& mark : figure.classic) series.insert(mark.series);
  const auto styles = Styles(series);
  std::size_t index = 0;
  for (const auto& [name, style] : styles) {
    bool named = !titled || index >= kMaxSeries || name.empty();
    for (const auto& [measured, pale] : {std::pair(false, false), std::pair(true, false),
                                         std::pair(false, true), std::pair(true, true)}) {
      std::vector<Point> points;
      for (const auto& mark : marks)
        if (mark.series == name && mark.measured == measured && mark.noisy == pale)
          if (const std::optional<Point> point = where(mark)) points.push_back(*point);
      if (points.empty()) continue;
      Draw(fmt::format("{}{}_{}", prefix, index, (pale ? 2 : 0) + (measured ? 1 : 0)), {points},
           fmt::format("with points pt {} ps {} lw 1.4 lc rgb '{}' {}",
                       style.hollow + (measured ? 1 : 0), size, Shade(style.colour, pale),
                       named ? "notitle" : "title " + GnuplotText(name) + " noenhanced"),
           plot);
      named = true;
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

// Adds the points with confidence intervals and a legend. Adds the sweep's lines or, if all levels
// are drawn, a line that joins the levels of each record.
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

// Adds for each record a dot at its complexity point, a symbol at its time point, and the line
// between them, with crosses at PipesUntil() (the pipes' cumulative times at their own ceilings).
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

// Returns the legend of the symbols, e.g. "hollow: modelled, filled: measured".
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

// Returns the points measured near the ridges of the drawn levels.
std::map<Level, std::vector<machine::RidgePoint>> MeasuredRidges(const Figure& figure) {
  auto ridges = figure.roofs.ridges;
  if (!figure.all_levels)
    std::erase_if(ridges, [&](const auto& ridge) { return ridge.first != figure.level; });
  return ridges;
}

// Adds thin lines for the sustained rates and for the points measured near the ridges.
void AddThinRoofs(const Figure& figure, Plot& plot) {
  int index = 0;
  const auto add = [&](const roofline::Roof& roof, const auto& line) {
    const auto sustained = roofline::SustainedOf(roof);
    if (!sustained) return;
    Draw(fmt::format("sustained{}", index++), {line(*sustained, figure)},
         fmt::format("with lines lc rgb '#8b96a5' lw 1 dt {} notitle", DashOf(*sustained)), plot);
  };
  for (const roofline::Roof& flat : figure.flats) add(flat, FlatLine);
  for (const roofline::Roof& slanted : figure.roofs.bytes) add(slanted, SlantedLine);
  for (const auto& [level, ridge] : MeasuredRidges(figure)) {
    std::vector<Point> line;
    for (const auto& point : ridge) line.emplace_back(point.intensity, point.flops_per_second);
    Draw(fmt::format("knee_{}", Key(level)), {line},
         "with linespoints pt 7 ps 0.3 lc rgb '#6f93b8' lw 1 notitle", plot);
  }
}

std::string ClassicScript(const Figure& figure) {
  const Panel panel = ClassicPanel(figure);
  Plot plot;
  int index = 0;
  for (const roofline::Roof& slanted : figure.roofs.bytes)
    Draw(fmt::format("byte{}", index++), {SlantedLine(slanted, figure)},
         fmt::format("with lines lc rgb '{}' lw {} dt {} notitle",
                     slanted.key == Key(figure.level) ? "#27313d" : "#8b96a5",
                     slanted.key == Key(figure.level) ? 2 : 1, DashOf(slanted)),
         plot);
  for (const roofline::Roof& flat : figure.flats)
    Draw(fmt::format("flop{}", index++), {FlatLine(flat, figure)},
         fmt::format("with lines lc rgb '#27313d' lw 2 dt {} notitle", DashOf(flat)), plot);
  AddThinRoofs(figure, plot);
  AddClassicMarks(figure, plot);
  return Ranges(panel) + RoofLabels(figure, panel) + RidgeLabels(figure, panel) +
         "set title 'Roofline'\nset xlabel 'intensity [FLOP/byte]'\nset ylabel 'performance "
         "[FLOP/s]'\n" +
         Joined(plot);
}

constexpr double kFar = 1e-18;     // [s] outside every chart
constexpr double kMaxDecades = 3;  // lines farther than so many decades from 10: no label

// Adds lines of equal intensity, which are parallel to the machine balance. If all marks share one
// compute roof and one level, the lines are at powers of ten of FLOP/byte, with labels; otherwise
// at powers of ten of compute time / memory time, without labels.
void AddIntensities(const Figure& figure, const Panel& panel, Plot& plot, std::string& labels) {
  const auto slanted =
      std::ranges::find(figure.roofs.bytes, Key(figure.level), &roofline::Roof::key);
  const bool known = figure.compute_roof && slanted != figure.roofs.bytes.end() &&
                     !figure.all_levels && !figure.has_nearer;
  const double balance = known ? roofline::RidgeIntensity(*figure.compute_roof, *slanted) : 1;
  const double lowest = panel.bottom - panel.right, highest = panel.top - panel.left;
  std::vector<std::vector<Point>> lines;
  for (double power = std::ceil(lowest + std::log10(balance));
       power <= highest + std::log10(balance); ++power) {
    const double ratio = std::pow(10, power) / balance;  // compute time / memory time
    lines.push_back({{kFar, kFar * ratio}, {1 / kFar, ratio / kFar}});
    const double x = std::min(panel.right, panel.top - std::log10(ratio)) - 0.02;
    const double y = x + std::log10(ratio);
    if (!known || std::abs(power - 1) > kMaxDecades || y < panel.bottom + 0.3 ||
        x < panel.left + 0.3)
      continue;
    labels += Label(text::ThreeDigits(std::pow(10, power)) + " FLOP/byte", x, y,
                    "right rotate by 45 offset 0,-0.3 textcolor rgb '#8b96a5'");
  }
  Draw("intensities", lines, "with lines lc rgb '#dfe4ea' dt 3 lw 1 notitle", plot);
}

// Adds guide lines: corners of equal run time, compute time = memory time, boxes of overhead.
void AddGuides(const Figure& figure, const Panel& panel, Plot& plot, std::string& labels) {
  std::vector<std::vector<Point>> corners, boxes;
  for (double power = std::ceil(std::min(panel.left, panel.bottom));
       power <= std::max(panel.right, panel.top); ++power) {
    const double t = std::pow(10, power);
    corners.push_back({{kFar, t}, {t, t}, {t, kFar}});
  }
  std::set<double> overheads;
  for (const auto& mark : figure.time)
    if (mark.overhead_seconds) overheads.insert(*mark.overhead_seconds);
  for (const double t : overheads) boxes.push_back({{kFar, t}, {t, t}, {t, kFar}});
  Draw("corners", corners, "with lines lc rgb '#dfe4ea' lw 1 notitle", plot);
  AddIntensities(figure, panel, plot, labels);
  if (!boxes.empty()) Draw("boxes", boxes, "with lines lc rgb '#d9a55c' dt 2 notitle", plot);
  Draw("balance", {{{kFar, kFar}, {1 / kFar, 1 / kFar}}},
       "with lines lc rgb '#27313d' lw 2 notitle", plot);
  if (overheads.empty()) return;
  const double least = *overheads.begin(), most = *overheads.rbegin();
  const auto label = [&](const std::string& times, double t) {
    labels += Label("overhead " + times, panel.left + 0.05, std::log10(t),
                    "left offset 0,0.5 textcolor rgb '#9a5b00'");
  };
  const auto low = text::WithPrefix(least, "s"), high = text::WithPrefix(most, "s");
  const bool apart = std::log10(most / least) >= LineHeight(panel);
  label(low == high || apart ? high : fmt::format("{} to {}", low, high), most);
  if (apart) label(low, least);
}

// Returns the commands for the upper and right axes: bytes (seconds x bandwidth) if all marks share
// one level, and FLOPs (seconds x compute roof) if all marks share one compute roof.
std::string WorkAxes(const Figure& figure, const Panel& panel) {
  std::string text;
  const auto axis = [&](const char* name, double low, double high, double rate,
                        const std::string& title) {
    text += fmt::format(
        "set logscale {0}\nset {0}range [{1:.6g}:{2:.6g}]\nset {0}tics nomirror font ',10' format "
        "'%.0s%c'\nset {0}label {3} font ',10'\n",
        name, std::pow(10, low) * rate, std::pow(10, high) * rate, GnuplotText(title));
  };
  for (const roofline::Roof& slanted : figure.roofs.bytes)
    if (slanted.key == Key(figure.level) && !figure.all_levels && !figure.has_nearer)
      axis("x2", panel.left, panel.right, slanted.per_second,
           roofline::LevelName(slanted.key) + " bytes");
  if (figure.compute_roof)
    axis("y2", panel.bottom, panel.top, figure.compute_roof->per_second,
         "FLOPs at the " + figure.compute_roof->key + " roof");
  return text + "set border 15\n";
}

std::string TimeScript(const Figure& figure) {
  if (figure.time.empty()) return "";
  const Panel panel = TimePanel(figure);
  Plot plot;
  std::string labels;
  AddGuides(figure, panel, plot, labels);
  AddTimeMarks(figure, plot);
  return "unset label\n" + Ranges(panel) + WorkAxes(figure, panel) + labels +
         fmt::format(
             "set title 'Time-based roofline'\nset xlabel '{} time [s]'\nset ylabel "
             "'compute time [s]'\n",
             figure.all_levels || figure.has_nearer ? "memory"
                                                    : roofline::LevelName(Key(figure.level))) +
         "set label 'compute bound' at graph 0.3,0.95 textcolor rgb '#8b96a5' font ',9'\n"
         "set label 'bandwidth bound' at graph 0.96,0.05 right textcolor rgb '#8b96a5' font "
         "',9'\n" +
         Joined(plot);
}

// Returns points of a roof, two per column of the terminal, to be drawn as dots: gnuplot would draw
// the roof's line in letters that depend on the slope.
std::vector<Point> Dots(const std::vector<Point>& line, const Panel& panel, int columns) {
  const double start = std::log10(line[0].first);
  const double from = std::max(panel.left, start);
  const double to = std::min(panel.right, std::log10(line[1].first));
  const double slope = line[0].second == line[1].second ? 0 : 1;
  std::vector<Point> dots;
  for (int i = 0; i <= 2 * columns; ++i) {
    const double x = from + (to - from) * i / (2 * columns);
    dots.emplace_back(std::pow(10, x), line[0].second * std::pow(10, slope * (x - start)));
  }
  return dots;
}

void AddDottedRoofs(const Figure& figure, const Panel& panel, int columns, Plot& plot,
                    std::string& labels) {
  std::vector<std::vector<Point>> dots;
  for (const roofline::Roof& flat : figure.flats) {
    dots.push_back(Dots(FlatLine(flat, figure), panel, columns));
    labels += Label(RoofName(flat, "FLOP/s"), panel.right, std::log10(flat.per_second),
                    "right offset 0,0.6");
  }
  for (const roofline::Roof& slanted : figure.roofs.bytes) {
    if (slanted.key != Key(figure.level)) continue;
    dots.push_back(Dots(SlantedLine(slanted, figure), panel, columns));
    const double rate = std::log10(slanted.per_second);
    const double x = std::max(panel.left, panel.bottom - rate);
    labels += Label(RoofName(slanted, "B/s"), x, x + rate, "left offset 2,2");
  }
  Draw("roofs", dots, "with dots notitle", plot);
}

void AddLetters(const Figure& figure, Plot& plot) {
  std::map<std::string, std::vector<Point>> series;
  for (const auto& mark : figure.classic)
    series[mark.series].emplace_back(mark.intensity, mark.flops_per_second);
  int index = 0;
  for (const auto& [name, points] : series) {
    Draw(fmt::format("series{}", index), {points},
         fmt::format("with points pt '{}' notitle", static_cast<char>('A' + std::min(index, 25))),
         plot);
    ++index;
  }
}

}  // namespace

std::string FigureScript(const Figure& figure, const std::string& extension) {
  return SetTerminal(extension, 1200, 560) +
         "set micro\nset clip two\nset multiplot\nset logscale xy\nset format "
         "'%.0s%c'\nset grid lc rgb '#dfe4ea' lt 1\n"
         "set border 3\nset tics nomirror font ',10'\nset tmargin at screen 0.86\nset bmargin at "
         "screen 0.303\n"
         "set key at screen 0.5,0.12 center center vertical maxrows 4 font ',10' noenhanced\n"
         "set lmargin at screen 0.07\nset rmargin at screen 0.48\n"
         "set label " +
         GnuplotText(figure.caption) +
         " at screen 0.5,0.043 center font ',9' noenhanced\nset label " +
         GnuplotText(FillLegend(figure) + (MeasuredRidges(figure).empty()
                                               ? ""
                                               : "; thin line with dots: measured knee")) +
         " at screen 0.5,0.018 center font ',9' noenhanced\n" + ClassicScript(figure) +
         "set lmargin at screen 0.56\nset rmargin at screen 0.945\nunset grid\nunset key\n" +
         TimeScript(figure) + "unset multiplot\n";
}

std::string TerminalScript(const Figure& figure, int width) {
  const Panel panel = ClassicPanel(figure);
  const int columns = std::clamp(width, 60, 160), rows = std::clamp(columns * 3 / 10, 20, 36);
  Plot plot;
  std::string labels;
  AddDottedRoofs(figure, panel, columns, plot, labels);
  AddLetters(figure, plot);
  return fmt::format(
             "set terminal dumb size {},{} noenhanced\nset encoding utf8\nset micro\n"
             "set logscale xy\nset format '%.0s%c'\nset xlabel 'intensity [FLOP/byte]'\n"
             "set title 'performance [FLOP/s]'\n",
             columns, rows) +
         Ranges(panel) + labels + Joined(plot);
}

}  // namespace dlroof::figure
