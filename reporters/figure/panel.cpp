#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "reporters/figure/figure.h"
#include "reporters/text/text.h"

namespace dlroof::figure {
namespace {

constexpr double kFarRight = 1e9, kFarLeft = 1e-9;  // [flop/byte] outside every chart
constexpr double kCharacter = 5.5;                  // [px] mean width of a character of a label
constexpr double kWideCharacter = 6.5;              // [px] the same in a wider font
constexpr double kMaxShift = 15;                    // [px] largest shift of a ridge's label
constexpr double kLine = 13;                        // [px] least vertical distance of two labels

// Returns the powers of ten per pixel along x and y.
Point PerPixel(const Panel& panel) {
  return {(panel.right - panel.left) / panel.width, (panel.top - panel.bottom) / panel.height};
}

struct Bounds {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void Add(double value) {
    low = std::min(low, std::log10(value));
    high = std::max(high, std::log10(value));
  }
};

// Ridges whose labels would overlap.
struct RidgeGroup {
  std::vector<std::string> intensities;  // [flop/byte] distinct, highest first
  double lowest_per_second = 0;          // [flop/s] lowest of the ridges' compute roofs
};

// Returns the ridges of a memory level, highest first. Labels are as far apart as their compute
// roofs, so the distance of two roofs decides whether their labels overlap. `y_px`: see PerPixel.
std::vector<RidgeGroup> RidgeGroups(const Figure& figure, const roofline::Roof& slanted,
                                    double y_px) {
  std::vector<RidgeGroup> groups;
  for (const roofline::Roof& flat : figure.flats) {
    auto ridge = text::ThreeDigits(roofline::RidgeIntensity(flat, slanted));
    if (groups.empty() ||
        std::log10(groups.back().lowest_per_second / flat.per_second) / y_px >= kLine)
      groups.emplace_back();
    auto& [intensities, lowest] = groups.back();
    if (intensities.empty() || intensities.back() != ridge) intensities.push_back(std::move(ridge));
    lowest = flat.per_second;
  }
  return groups;
}

struct FlatLabel {
  double right = 0, y = 0;  // [powers of ten]
  std::string text, style;
};

// Returns the labels of the compute roofs (above their right ends) and of their sustained rates
// (below the lines). The second of two labels that would overlap moves to the left.
std::vector<FlatLabel> FlatLabels(const Figure& figure, const Panel& panel) {
  const auto [x_px, y_px] = PerPixel(panel);
  std::vector<FlatLabel> labels;
  for (const roofline::Roof& flat : figure.flats) {
    labels.push_back(
        {0, std::log10(flat.per_second) + 8 * y_px, RoofName(flat, "FLOP/s"), "right"});
    if (const auto sustained = flat.sustained_per_second)
      labels.push_back({0, std::log10(*sustained) - 8 * y_px,
                        "sustained  " + text::WithPrefix(*sustained, "FLOP/s"),
                        "right textcolor rgb '#5b6675'"});
  }
  std::ranges::stable_sort(labels, std::ranges::greater{}, &FlatLabel::y);
  double last = Bounds().low;
  int aside = 0;
  for (auto& label : labels) {
    aside = (last - label.y) / y_px < kLine ? aside + 1 : 0;
    last = label.y;
    label.right = panel.right - (4 + 170 * aside) * x_px;
  }
  return labels;
}

// Returns how far [powers of ten] a label that begins at `x` must move to the left so that it ends
// before the FlatLabels at its height; at most kMaxShift, so that it stays beside its ridge.
double ShiftBeforeFlatLabels(double x, double y, std::size_t characters, const Figure& figure,
                             const Panel& panel) {
  const auto [x_px, y_px] = PerPixel(panel);
  double shift = 0;
  for (const auto& label : FlatLabels(figure, panel)) {
    const double begin =
        label.right - kWideCharacter * static_cast<double>(label.text.size()) * x_px;
    const double end = x + kWideCharacter * static_cast<double>(characters) * x_px;
    const bool same_height = std::abs(label.y - y) < kLine * y_px;
    if (same_height && x < begin) shift = std::max(shift, end - begin);
  }
  return std::min(shift, kMaxShift * x_px);
}

}  // namespace

std::vector<Point> SlantedLine(const roofline::Roof& slanted, const Figure& figure) {
  const double ridge =
      figure.flats.empty() ? kFarRight : roofline::RidgeIntensity(figure.flats.front(), slanted);
  return {{kFarLeft, kFarLeft * slanted.per_second}, {ridge, ridge * slanted.per_second}};
}

std::vector<Point> FlatLine(const roofline::Roof& flat, const Figure& figure) {
  double start = kFarLeft;
  const auto fastest =
      std::ranges::max_element(figure.roofs.bytes, {}, &roofline::Roof::per_second);
  if (fastest != figure.roofs.bytes.end()) start = roofline::RidgeIntensity(flat, *fastest);
  return {{start, flat.per_second}, {kFarRight, flat.per_second}};
}

Panel ClassicPanel(const Figure& figure) {
  Bounds x, y;
  for (const auto& mark : figure.classic) {
    x.Add(mark.intensity);
    y.Add(mark.flops_per_second);
  }
  for (const roofline::Roof& flat : figure.flats) {
    y.Add(flat.per_second);
    if (flat.sustained_per_second) y.Add(*flat.sustained_per_second);
    for (const roofline::Roof& slanted : figure.roofs.bytes)
      if (slanted.key == Key(figure.level)) x.Add(roofline::RidgeIntensity(flat, slanted));
  }
  return {x.low - 0.6, x.high + 0.9, y.low - 0.35, y.high + 0.3};
}

Panel SharedPanel(std::vector<Figure> figures, const std::vector<roofline::ClassicMark>& marks,
                  double height) {
  std::optional<Panel> whole;
  for (auto& figure : figures) {
    figure.classic = marks;
    const Panel panel = ClassicPanel(figure);
    if (!whole) whole = panel;
    whole->left = std::min(whole->left, panel.left);
    whole->right = std::max(whole->right, panel.right);
    whole->bottom = std::min(whole->bottom, panel.bottom);
    whole->top = std::max(whole->top, panel.top);
  }
  whole->width = 780;
  whole->height = height;
  return *whole;
}

Panel TimePanel(const Figure& figure) {
  Bounds x, y;
  for (const auto& mark : figure.time) {
    for (const auto& point : {mark.complexity, mark.point.value_or(mark.complexity)}) {
      x.Add(point.first);
      y.Add(point.second);
    }
    for (Bounds* bounds : {&x, &y})
      if (mark.overhead_seconds) bounds->Add(*mark.overhead_seconds);
  }
  Panel panel{x.low - 0.3, x.high + 0.35, y.low - 0.3, y.high + 0.35};
  const double decade =
      std::min(panel.width / (panel.right - panel.left), panel.height / (panel.top - panel.bottom));
  const double wider = panel.width / decade - (panel.right - panel.left);
  const double higher = panel.height / decade - (panel.top - panel.bottom);
  return {panel.left - wider / 2, panel.right + wider / 2, panel.bottom - higher / 2,
          panel.top + higher / 2};
}

std::string SetTerminal(const std::string& extension, int width, int height) {
  const auto font = std::string("font 'Liberation Sans,12'");
  const std::map<std::string, std::string> terminals = {
      {"svg", fmt::format("svg size {},{} dynamic background rgb 'white' {}", width, height, font)},
      {"pdf", fmt::format("pdfcairo size {:g}in,{:g}in {}", width / 100.0, height / 100.0, font)},
      {"png", fmt::format("pngcairo size {},{} {} fontscale 2 linewidth 2 pointscale 2", 2 * width,
                          2 * height, font)}};
  return "set terminal " + terminals.at(extension) + " noenhanced\nset encoding utf8\n";
}

double LineHeight(const Panel& panel) { return kLine * PerPixel(panel).second; }

std::string Ranges(const Panel& panel) {
  return fmt::format("set xrange [{:.6g}:{:.6g}]\nset yrange [{:.6g}:{:.6g}]\n",
                     std::pow(10, panel.left), std::pow(10, panel.right),
                     std::pow(10, panel.bottom), std::pow(10, panel.top));
}

std::string Label(const std::string& text, double log_x, double log_y, const std::string& style) {
  return fmt::format("set label {} at {:.6g},{:.6g} {} front noenhanced font ',9'\n",
                     GnuplotText(text), std::pow(10, log_x), std::pow(10, log_y), style);
}

std::string RoofName(const roofline::Roof& roof, std::string_view unit) {
  return fmt::format("{}  {}{}", roofline::LevelName(roof.key),
                     text::WithPrefix(roof.per_second, unit), roofline::RoofNote(roof));
}

// Puts the label of a bandwidth roof at the roof's visible lower end. The second of two labels that
// would overlap moves to the right.
std::string RoofLabels(const Figure& figure, const Panel& panel) {
  const auto [x_px, y_px] = PerPixel(panel);
  std::string text;
  for (const auto& label : FlatLabels(figure, panel))
    text += Label(label.text, label.right, label.y, label.style);
  const double angle = std::atan2(x_px, y_px);
  double last = Bounds().low;
  int aside = 0;
  for (const roofline::Roof& slanted : figure.roofs.bytes) {
    const double rate = std::log10(slanted.per_second);
    aside = (last - rate) / y_px * std::cos(angle) < 12 ? aside + 1 : 0;
    last = rate;
    const double x =
        std::max(panel.left, panel.bottom - rate) + (8 + 130 * aside * std::cos(angle)) * x_px;
    const double y = x + rate + 8 * std::cos(angle) * y_px;
    auto name = RoofName(slanted, "B/s");
    if (slanted.sustained_per_second)
      name += fmt::format(", sustained {}", text::WithPrefix(*slanted.sustained_per_second, "B/s"));
    // Omits a label that is longer than its roof's line, except the label of figure.level.
    const double end = y + kCharacter * static_cast<double>(name.size()) * std::sin(angle) * y_px;
    const double highest =
        figure.flats.empty() ? panel.top : std::log10(figure.flats.front().per_second);
    if (slanted.key != Key(figure.level) && end > highest) continue;
    text += Label(name, x - 8 * std::sin(angle) * x_px, y,
                  fmt::format("left rotate by {:.4g}", angle * 180 / M_PI));
  }
  return text;
}

std::string RoofLabels(Figure figure, const Panel& panel,
                       const std::function<std::string(const std::string& name)>& renamed) {
  for (auto* roofs : {&figure.flats, &figure.roofs.bytes})
    for (auto& roof : *roofs) {
      roof.key = renamed(roofline::LevelName(roof.key));
      roof.sustained_per_second.reset();
    }
  return RoofLabels(figure, panel);
}

std::string RidgeLabels(const Figure& figure, const Panel& panel) {
  const auto [x_px, y_px] = PerPixel(panel);
  std::string text;
  for (const roofline::Roof& slanted : figure.roofs.bytes) {
    if (slanted.key != Key(figure.level)) continue;
    for (const auto& [intensities, lowest] : RidgeGroups(figure, slanted, y_px)) {
      const auto name =
          fmt::format("ridge {}", fmt::join(intensities.rbegin(), intensities.rend(), ", "));
      const double x = std::log10(lowest / slanted.per_second) + 6 * x_px;
      const double y = std::log10(lowest) - 9 * y_px;
      text += Label(name, x - ShiftBeforeFlatLabels(x, y, name.size(), figure, panel), y,
                    "left textcolor rgb '#5b6675'");
    }
  }
  return text;
}

int DashOf(const roofline::Roof& roof) { return roof.specified ? 4 : roof.validated ? 1 : 2; }

std::string ArrowRow(const Point& from, const Point& to) {
  return fmt::format("{:.9g} {:.9g} {:.9g} {:.9g}\n", from.first, from.second,
                     to.first - from.first, to.second - from.second);
}

std::string PointRow(const Point& point, std::string_view colour, bool noisy) {
  return fmt::format("{:.9g} {:.9g} 0x{}\n", point.first, point.second,
                     Shade(colour, noisy).substr(1));
}

void DrawRows(const std::string& name, const std::string& rows, const std::string& how,
              Plot& plot) {
  plot.blocks += "$" + name + " << EOD\n" + rows + "EOD\n";
  plot.elements.push_back(fmt::format("${} {}", name, how));
}

void Draw(const std::string& name, const std::vector<std::vector<Point>>& lines,
          const std::string& how, Plot& plot) {
  std::string rows;
  for (const auto& line : lines) {
    for (const auto& [x, y] : line) rows += fmt::format("{:.9g} {:.9g}\n", x, y);
    rows += '\n';
  }
  DrawRows(name, rows, how, plot);
}

void AddRoofLines(const Figure& figure, const std::string& prefix, const std::string& style,
                  Plot& plot) {
  int index = 0;
  const auto add = [&](const std::vector<Point>& line, const roofline::Roof& roof) {
    Draw(fmt::format("{}{}", prefix, index++), {line},
         fmt::format("with lines {} dt {} notitle", style, DashOf(roof)), plot);
  };
  for (const auto& flat : figure.flats) add(FlatLine(flat, figure), flat);
  for (const auto& slanted : figure.roofs.bytes) add(SlantedLine(slanted, figure), slanted);
}

std::string Joined(const Plot& plot) {
  return plot.blocks + fmt::format("plot {}\n", fmt::join(plot.elements, ", \\\n  "));
}

std::string ArrowChartScript(const ArrowChart& chart, const std::string& extension,
                             const Panel& panel, const std::string& labels, const Plot& plot) {
  auto script =
      SetTerminal(extension, 900, chart.height) +
      fmt::format(
          "set micro\nset clip two\nset logscale xy\nset format '%.0s%c'\n"
          "set grid lc rgb '#dfe4ea' lt 1\nset border 3\nset tics nomirror font ',10'\n"
          "set lmargin at screen 0.09\nset rmargin at screen 0.97\nset tmargin at screen 0.93\n"
          "set bmargin at screen {}\n"
          "set key at screen 0.5,0.12 center center vertical maxrows 5 font ',10' noenhanced\n"
          "set title '{}'\nset xlabel 'intensity [FLOP/byte]'\n"
          "set ylabel 'performance [FLOP/s]'\n",
          chart.bottom, chart.title);
  for (std::size_t i = 0; i < chart.captions.size(); ++i)
    script += fmt::format("set label {} at screen 0.5,{:g} center font ',9' noenhanced\n",
                          GnuplotText(chart.captions[i]),
                          0.02 + 0.025 * static_cast<double>(chart.captions.size() - 1 - i));
  return script + Ranges(panel) + labels + Joined(plot);
}

std::string MachineNames(const roofline::PlacedRun& run) {
  std::set<std::string> names;
  for (const auto& machine : run.file.machines) names.insert(machine.name);
  return fmt::format("{}", fmt::join(names, " + "));
}

std::string_view SeriesColour(std::size_t index) {
  constexpr std::array<std::string_view, 7> kColours = {"#0072b2", "#d55e00", "#009e73", "#b5468f",
                                                        "#8a6d00", "#4b4fc4", "#6b7280"};
  return kColours[index % kColours.size()];
}

std::string Shade(std::string_view colour, bool pale) {
  if (!pale) return std::string(colour);
  std::string mixed = "#";
  for (std::size_t at = 1; at + 1 < colour.size(); at += 2)
    mixed +=
        fmt::format("{:02x}", 170 + std::stoi(std::string(colour.substr(at, 2)), nullptr, 16) / 3);
  return mixed;
}

}  // namespace dlroof::figure
