// The gnuplot scripts of figure.h. Roofs, marks and guide lines are data blocks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "reporters/figure/figure.h"
#include "reporters/text/text.h"

namespace dlroof::figure {
namespace {

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
