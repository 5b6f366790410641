// The gnuplot half of figure.h. Roofs, marks and guides are data blocks of numbers; everything is
// on logarithmic axes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "reporters/figure.h"
#include "reporters/figure_panel.h"
#include "reporters/gnuplot.h"
#include "reporters/units.h"

namespace dlroof {
namespace {

// Okabe and Ito's colours without yellow: told apart with any colour vision.
constexpr std::array<std::string_view, 7> kColours = {"#0072b2", "#d55e00", "#009e73", "#b5468f",
                                                      "#8a6d00", "#4b4fc4", "#6b7280"};
constexpr std::size_t kMostSeries = 18;  // in the legend

std::string Block(const std::string& name, const std::vector<std::vector<Point>>& lines) {
  std::string text = "$" + name + " << EOD\n";
  for (const auto& line : lines) {
    for (const auto& [x, y] : line) text += fmt::format("{:.9g} {:.9g}\n", x, y);
    text += "\n";
  }
  return text + "EOD\n";
}

// Colour by operation and direction, shape by type; hollow unless measured.
struct Style {
  std::string_view colour;
  int hollow = 6;  // gnuplot's point type; the filled one follows it
};

std::map<std::string, Style> Styles(const std::set<std::string>& series) {
  static const std::map<std::string_view, int> shapes = {
      {"f32", 6}, {"bf16", 4}, {"int8", 12}, {"f16", 8}};
  std::map<std::string, std::size_t> families;
  std::map<std::string, Style> styles;
  for (const auto& name : series) {
    const auto space = name.find_last_of(' ');
    const auto family = families.try_emplace(name.substr(0, space), families.size()).first->second;
    const auto shape =
        space == std::string::npos ? shapes.end() : shapes.find(name.substr(space + 1));
    styles[name] = {kColours[family % kColours.size()], shape == shapes.end() ? 10 : shape->second};
  }
  return styles;
}

// A series' marks as gnuplot draws them, a data block each for the modelled and the measured.
struct Plot {
  std::string blocks;
  std::vector<std::string> elements;
};

void AddMarks(const std::string& block, const std::vector<Point>& points, const Style& style,
              bool measured, const std::string& title, Plot& plot) {
  if (points.empty()) return;
  plot.blocks += Block(block, {points});
  plot.elements.push_back(
      fmt::format("${} with points pt {} ps 0.8 lw 1.4 lc rgb '{}' {}", block,
                  style.hollow + (measured ? 1 : 0), style.colour,
                  title.empty() ? "notitle" : "title " + GnuplotText(title) + " noenhanced"));
}

template <typename Mark, typename Where>
void AddSeries(const std::string& prefix, const std::vector<Mark>& marks, const Figure& figure,
               bool titled, Where where, Plot& plot) {
  std::set<std::string> series;
  for (const auto& mark : figure.classic) series.insert(mark.series);
  const auto styles = Styles(series);
  std::size_t index = 0;
  for (const auto& [name, style] : styles) {
    bool named = !titled || index >= kMostSeries;
    for (const bool measured : {false, true}) {
      std::vector<Point> points;
      for (const auto& mark : marks)
        if (mark.series == name && mark.measured == measured)
          if (const std::optional<Point> point = where(mark)) points.push_back(*point);
      AddMarks(fmt::format("{}{}_{}", prefix, index, measured ? 1 : 0), points, style, measured,
               named ? "" : name, plot);
      named = named || !points.empty();
    }
    ++index;
  }
}

std::string Joined(const Plot& plot) {
  return plot.blocks + fmt::format("plot {}\n", fmt::join(plot.elements, ", \\\n  "));
}

void AddLine(const std::string& name, const std::vector<Point>& line, const std::string& style,
             Plot& plot) {
  plot.blocks += Block(name, {line});
  plot.elements.push_back(fmt::format("${} with lines {} notitle", name, style));
}

std::string ClassicScript(const Figure& figure) {
  const Panel panel = ClassicPanel(figure);
  Plot plot;
  int index = 0;
  for (const Roof& slanted : figure.roofs.bytes)
    AddLine(fmt::format("byte{}", index++), SlantedLine(slanted, figure),
            fmt::format("lc rgb '{}' lw {} dt {}",
                        slanted.key == Key(figure.level) ? "#27313d" : "#8b96a5",
                        slanted.key == Key(figure.level) ? 2 : 1, slanted.proved ? 1 : 2),
            plot);
  for (const Roof& flat : figure.flats)
    AddLine(fmt::format("flop{}", index++), FlatLine(flat, figure),
            fmt::format("lc rgb '#27313d' lw 2 dt {}", flat.proved ? 1 : 2), plot);
  plot.blocks += "$bars << EOD\n";
  for (const auto& mark : figure.classic)
    if (mark.ci95)
      plot.blocks += fmt::format("{:.9g} {:.9g} 0 {:.9g}\n", mark.intensity, mark.ci95->first,
                                 mark.ci95->second - mark.ci95->first);
  plot.blocks += "EOD\n";
  // Not yerrorbars: it draws a white box round each symbol.
  if (std::any_of(figure.classic.begin(), figure.classic.end(),
                  [](const auto& m) { return m.ci95.has_value(); }))
    plot.elements.emplace_back("$bars with vectors nohead lc rgb '#5b6675' lw 1 notitle");
  AddSeries(
      "classic", figure.classic, figure, true,
      [](const ClassicMark& m) {
        return std::optional<Point>({m.intensity, m.flops_per_second});
      },
      plot);
  return Ranges(panel) + RoofLabels(figure, panel) + RidgeLabels(figure, panel) +
         "set title 'Roofline'\nset xlabel 'intensity [FLOP/byte]'\nset ylabel 'performance "
         "[FLOP/s]'\n" +
         Joined(plot);
}

std::set<double> Overheads(const Figure& figure) {
  std::set<double> overheads;
  for (const auto& mark : figure.time)
    if (mark.overhead_seconds) overheads.insert(*mark.overhead_seconds);
  return overheads;
}

// Corners of equal run time, the machine balance, and the boxes in which starting a call costs
// most.
void AddGuides(const Figure& figure, const Panel& panel, Plot& plot) {
  constexpr double kFar = 1e-18;
  std::vector<std::vector<Point>> corners, boxes;
  for (double power = std::ceil(std::min(panel.left, panel.bottom));
       power <= std::max(panel.right, panel.top); ++power) {
    const double t = std::pow(10, power);
    corners.push_back({{kFar, t}, {t, t}, {t, kFar}});
  }
  for (const double t : Overheads(figure)) boxes.push_back({{kFar, t}, {t, t}, {t, kFar}});
  plot.blocks += Block("corners", corners) + Block("boxes", boxes);
  plot.elements.emplace_back("$corners with lines lc rgb '#dfe4ea' lw 1 notitle");
  if (!boxes.empty()) plot.elements.emplace_back("$boxes with lines lc rgb '#9a5b00' dt 2 notitle");
  AddLine("balance", {{kFar, kFar}, {1 / kFar, 1 / kFar}}, "lc rgb '#27313d' lw 2", plot);
}

std::string TimeScript(const Figure& figure) {
  if (figure.time.empty()) return "";
  const Panel panel = TimePanel(figure);
  Plot plot;
  AddGuides(figure, panel, plot);
  std::vector<std::vector<Point>> gaps;
  for (const auto& mark : figure.time)
    gaps.push_back({mark.complexity, mark.point.value_or(mark.complexity)});
  plot.blocks += Block("gaps", gaps);
  plot.elements.emplace_back("$gaps with lines lc rgb '#8b96a5' lw 1 notitle");
  plot.elements.emplace_back("$gaps every ::0::0 with points pt 7 ps 0.3 lc rgb '#5b6675' notitle");
  AddSeries(
      "time", figure.time, figure, false, [](const TimeMark& m) { return m.point; }, plot);
  std::string labels;
  for (const double t : Overheads(figure))
    labels += Label("overhead " + WithPrefix(t, "s"), panel.left + 0.05, std::log10(t),
                    "left offset 0,0.5 textcolor rgb '#9a5b00'");
  return "unset label\n" + Ranges(panel) + labels +
         fmt::format(
             "set title 'Time-based roofline'\nset xlabel '{} time [s]'\nset ylabel 'compute time "
             "[s]'\n",
             LevelName(Key(figure.level))) +
         "set label 'compute bound' at graph 0.04,0.95 textcolor rgb '#8b96a5' font ',9'\n"
         "set label 'bandwidth bound' at graph 0.96,0.05 right textcolor rgb '#8b96a5' font "
         "',9'\n" +
         Joined(plot);
}

// A roof as dots, two a column, for lines of a text terminal change their letter with their slope.
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
  for (const Roof& flat : figure.flats) {
    dots.push_back(Dots(FlatLine(flat, figure), panel, columns));
    labels += Label(RoofName(flat, "FLOP/s"), panel.right, std::log10(flat.per_second),
                    "right offset 0,0.6");
  }
  for (const Roof& slanted : figure.roofs.bytes) {
    if (slanted.key != Key(figure.level)) continue;
    dots.push_back(Dots(SlantedLine(slanted, figure), panel, columns));
    const double rate = std::log10(slanted.per_second);
    const double x = std::max(panel.left, panel.bottom - rate);
    labels += Label(RoofName(slanted, "B/s"), x, x + rate, "left offset 2,2");
  }
  plot.blocks += Block("roofs", dots);
  plot.elements.emplace_back("$roofs with dots notitle");
}

void AddLetters(const Figure& figure, Plot& plot) {
  std::map<std::string, std::vector<Point>> series;
  for (const auto& mark : figure.classic)
    series[mark.series].emplace_back(mark.intensity, mark.flops_per_second);
  int index = 0;
  for (const auto& [name, points] : series) {
    plot.blocks += Block(fmt::format("series{}", index), {points});
    plot.elements.push_back(fmt::format("$series{} with points pt '{}' notitle", index,
                                        static_cast<char>('A' + std::min(index, 25))));
    ++index;
  }
}

}  // namespace

std::string FigureScript(const Figure& figure, const std::string& extension) {
  const std::map<std::string, std::string> terminals = {
      {"svg",
       "svg size 1200,560 dynamic background rgb 'white' font 'Liberation Sans,12' noenhanced"},
      {"pdf", "pdfcairo size 12in,5.6in font 'Liberation Sans,12' noenhanced"},
      {"png",
       "pngcairo size 2400,1120 font 'Liberation Sans,12' fontscale 2 linewidth 2 pointscale 2 "
       "noenhanced"}};
  return "set terminal " + terminals.at(extension) +
         "\nset encoding utf8\nset micro\nset clip two\nset multiplot\nset logscale xy\nset format "
         "'%.0s%c'\nset grid lc "
         "rgb '#dfe4ea' lt 1\n"
         "set border 3\nset tics nomirror font ',10'\nset tmargin at screen 0.91\nset bmargin at "
         "screen 0.303\n"
         "set key at screen 0.5,0.12 center center vertical maxrows 4 font ',10' noenhanced\n"
         "set lmargin at screen 0.06\nset rmargin at screen 0.48\n"
         "set label " +
         GnuplotText(figure.caption + "; hollow: modelled, filled: measured") +
         " at screen 0.5,0.02 center font ',9' noenhanced\n" + ClassicScript(figure) +
         "set lmargin at screen 0.56\nset rmargin at screen 0.98\nunset grid\nunset key\n" +
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

}  // namespace dlroof
