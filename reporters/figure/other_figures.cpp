// Figures of time breakdowns, trajectories and clusters (figure.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "counters/base/error.h"
#include "reporters/figure/figure.h"
#include "reporters/text/text.h"

namespace dlroof::figure {
namespace {

constexpr int kWidth = 900, kRowHeight = 22, kMargins = 70;  // [px]

// Rows of the figure, from the top: for each benchmark its name, then its components.
struct Rows {
  std::map<std::string, std::string> bars;  // by colour: lines "BEGIN END ROW", the first two in %
  std::string labels;                       // gnuplot commands
  int count = 0;
};

const char* ColourOf(roofline::ComponentKind kind) {
  if (kind == roofline::ComponentKind::kRoof) return "#2c7a4b";
  return kind == roofline::ComponentKind::kUnexplained ? "#9aa5b1" : "#c2571a";
}

void AddLabel(const std::string& text, double x, const char* style, Rows& rows) {
  rows.labels += fmt::format("set label {} at {},{} {} front noenhanced\n", GnuplotText(text), x,
                             rows.count, style);
}

// Adds a bar, and its label right or left of the bar, or on the bar if both sides lack the space.
void AddComponent(const roofline::Component& component, double begin, double end, Rows& rows) {
  constexpr double kLabel = 45;  // [%] of the width: space for a label
  rows.bars[ColourOf(component.kind)] += fmt::format("{} {} {}\n", begin, end, rows.count);
  const auto text = fmt::format("{} {}  {} ({})", text::WithPrefix(component.seconds, "s"),
                                text::PercentText((end - begin) / 100),
                                roofline::Words(component.kind), Key(component.from));
  if (100 - end >= kLabel) return AddLabel(text, end + 1, "left font ',9'", rows);
  if (begin >= kLabel) return AddLabel(text, begin - 1, "right font ',9'", rows);
  AddLabel(text, begin + 1, "left font ',9' tc rgb 'white'", rows);
}

void AddBreakdown(const record::Record& record, const roofline::Placed& placed, Rows& rows) {
  const auto& breakdown = *placed.breakdown;
  AddLabel(fmt::format("{}  {}{}", record.name, roofline::MarkOf(placed.timing->noisy),
                       text::WithPrefix(breakdown.seconds, "s")),
           0, "left font ',11'", rows);
  ++rows.count;
  double before = 0;
  for (const auto& component : breakdown.components) {
    const double after = before + 100 * component.seconds / breakdown.seconds;
    AddComponent(component, before, after, rows);
    before = after;
    ++rows.count;
  }
  ++rows.count;
}

constexpr std::size_t kColours = 7;      // number of colours of SeriesColour()
constexpr std::size_t kMaxTitles = 18;   // largest number of trajectories in the legend
constexpr std::size_t kMaxLabelled = 6;  // with more trajectories, their ends have no labels
constexpr std::string_view kThin = "#8b96a5", kStrong = "#27313d";

std::vector<std::string> Captions(const roofline::PlacedRun& run, const TrajectoryFigure& figure) {
  const auto shared = roofline::SharedName(figure.trajectories);
  const bool nearer = std::ranges::any_of(figure.trajectories, [&](const auto& trajectory) {
    return trajectory.level != figure.level;
  });
  const bool pale = std::ranges::any_of(figure.trajectories, [](const auto& trajectory) {
    return std::ranges::any_of(trajectory.points, &roofline::TrajectoryPoint::noisy);
  });
  return {MachineNames(run) + (shared.empty() ? "" : ", " + shared),
          fmt::format("bytes of {}{}; arrows: to more {}{}", roofline::LevelName(Key(figure.level)),
                      nearer ? kOrOfCache : "", figure.trajectories.front().along,
                      pale ? "; pale: noisy (estimate)" : "")};
}

bool IsDrawn(const roofline::TrajectoryPoint& point) {
  return point.intensity && point.flops_per_second && *point.intensity > 0;
}

// Returns a panel for the roofs of every number of threads and for all points.
Panel PanelOf(const TrajectoryFigure& figure) {
  std::vector<roofline::ClassicMark> marks;
  for (const auto& trajectory : figure.trajectories)
    for (const auto& point : trajectory.points)
      if (IsDrawn(point))
        marks.push_back(
            {.intensity = *point.intensity, .flops_per_second = *point.flops_per_second});
  return SharedPanel(figure.roofs, marks, 410);
}

// Returns the compute roofs and the bandwidth roof of `level`.
roofline::RoofSet OfLevel(roofline::RoofSet roofs, Level level) {
  std::erase_if(roofs.bytes, [&](const roofline::Roof& roof) { return roof.key != Key(level); });
  return roofs;
}

// Returns the labels of the roofs for the most and for the fewest threads.
std::string RoofNames(const TrajectoryFigure& figure, const Panel& panel) {
  std::string text;
  for (const auto* roofs : std::set{&figure.roofs.front(), &figure.roofs.back()}) {
    const int threads = roofs->roofs.threads;
    auto labelled = *roofs;
    if (roofs != &figure.roofs.front())  // a name would overlap that of the roof just above it
      std::erase_if(labelled.roofs.bytes, [&](const roofline::Roof& roof) {
        return roof.per_second > 0.75 * figure.roofs.front().roofs.bytes.front().per_second;
      });
    text += RoofLabels(labelled, panel, [&](const std::string& name) {
      return fmt::format("{}, {} thread{}", name, threads, threads == 1 ? "" : "s");
    });
  }
  return text;
}

// Adds a trajectory to the gnuplot script: its coloured points, arrows from each point to the next
// and, if `labelled`, labels at its ends.
void AddTrajectory(const roofline::Trajectory& trajectory, std::size_t index, bool labelled,
                   Plot& plot, std::string& labels) {
  std::vector<const roofline::TrajectoryPoint*> points;
  for (const auto& point : trajectory.points)
    if (IsDrawn(point)) points.push_back(&point);
  const auto colour = SeriesColour(index);
  const auto dash = 1 + index / kColours % 4;  // a repeated colour gets another dash type
  std::string block, arrows;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double x = *points[i]->intensity, y = *points[i]->flops_per_second;
    block += PointRow({x, y}, colour, points[i]->noisy);
    if (i > 0)
      arrows += ArrowRow({*points[i - 1]->intensity, *points[i - 1]->flops_per_second}, {x, y});
    if (labelled && (i == 0 || i + 1 == points.size()))
      labels += fmt::format(
          "set label {} at {:.9g},{:.9g} left offset 0.6,{} front textcolor rgb '{}' font "
          "',9'\n",
          GnuplotText(roofline::ValueText(trajectory, points[i]->value)), x, y, i == 0 ? -0.3 : 0.3,
          colour);
  }
  const auto style = fmt::format("lw 1.3 dt {} lc rgb '{}' notitle", dash, colour);
  DrawRows(fmt::format("arrows{}", index), arrows,
           "with vectors head filled size screen 0.009,20 " + style, plot);
  DrawRows(fmt::format("points{}", index), block,
           "using 1:2:3 with points pt 7 ps 0.6 lc rgb variable notitle", plot);
  if (index < kMaxTitles)
    plot.elements.push_back(
        fmt::format("keyentry with lines lw 3 dt {} lc rgb '{}' title {} noenhanced", dash, colour,
                    GnuplotText(trajectory.label)));
}

constexpr std::size_t kMaxNamedNodes = 30, kMaxNamedBenchmarks = 80;
constexpr int kBenchmarkColumns = 66;     // [columns] space for a benchmark's name beside the map
constexpr std::size_t kMaxNodeName = 18;  // [1] characters that fit below the map
constexpr int kMapWidth = 980, kTop = 46, kNodeNames = 110, kRoofs = 330;  // [px]
// [1] A map with more cells is drawn as an image, which viewers blur when they enlarge it.
constexpr std::size_t kMaxRectangles = 20000;
constexpr double kMinScale = 5, kMaxScale = 50;  // [%] bounds of the colour scale
constexpr double kShown = 0.98;                  // [1] share of cells within the scale

// Returns the end of the colour scale [%], so that a share kShown of the cells is within the scale.
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

// Returns the domain that all of several names share, e.g. ".cluster.org", otherwise "".
std::string SharedDomain(const std::vector<std::string>& nodes) {
  const auto dot = nodes.front().find('.');
  if (nodes.size() < 2 || dot == std::string::npos || dot == 0) return "";
  auto domain = nodes.front().substr(dot);
  const bool shared = std::ranges::all_of(nodes, [&](const auto& name) {
    return name.size() > domain.size() && name.ends_with(domain);
  });
  return shared ? domain : "";
}

// Returns the names without a shared domain; of a name too long for the map only the end.
std::vector<std::string> NodeLabels(std::vector<std::string> nodes) {
  const auto domain = SharedDomain(nodes);
  for (auto& name : nodes) {
    name.resize(name.size() - domain.size());
    if (name.size() <= kMaxNodeName) continue;
    auto begin = name.size() - kMaxNodeName + 1;
    while (begin < name.size() && (static_cast<unsigned char>(name[begin]) & 0xC0) == 0x80) ++begin;
    name = "\u2026" + name.substr(begin);
  }
  return nodes;
}

std::string Cells(const NodeMap& map) {
  std::string block = "$cells << EOD\n";
  for (const auto& row : map.slower) {
    for (const auto& cell : row)
      block += cell ? fmt::format("{:.6g} ", *cell) : std::string("NaN ");
    block += '\n';
  }
  return block + "EOD\n";
}

// Returns tics of the colour scale. "≤" and "≥" mark its ends if there are values beyond them.
std::string ScaleTics(const NodeMap& map, double scale) {
  const bool clips = std::ranges::any_of(map.slower, [&](const auto& row) {
    return std::ranges::any_of(row,
                               [&](const auto& cell) { return cell && std::abs(*cell) > scale; });
  });
  return fmt::format(
      "('{1}-{0:g} %%' -{0:g}, '-{2:g} %%' -{2:g}, '0 %%' 0, '{2:g} %%' {2:g}, '{3}{0:g} %%' "
      "{0:g})",
      scale, clips ? "\u2264 " : "", scale / 2, clips ? "\u2265 " : "");
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

int MapHeight(const NodeMap& map) {
  return std::clamp(14 * static_cast<int>(map.benchmarks.size()), 160, 980);
}

int HeightOf(const NodeMap& map) {
  return kTop + MapHeight(map) + kNodeNames + (map.roofs.empty() ? 0 : kRoofs);
}

// Sets the margins of a panel from `top` to `bottom` [px] below the figure's upper edge.
std::string Margins(const NodeMap& map, double top, double bottom) {
  return fmt::format("set tmargin at screen {:.4f}\nset bmargin at screen {:.4f}\n",
                     1 - top / HeightOf(map), 1 - bottom / HeightOf(map));
}

std::string MapPanel(const NodeMap& map) {
  const double scale = ScaleOf(map);
  auto names = text::ShortenNames(map.benchmarks, kBenchmarkColumns).value_or(map.benchmarks);
  for (auto& name : names) name = text::ShortenMiddle(name, kBenchmarkColumns);
  return Margins(map, kTop, kTop + MapHeight(map)) +
         fmt::format(
             "set lmargin at screen 0.41\nset rmargin at screen 0.88\n"
             "set title 'Time of each benchmark on each node, % more than the median node'\n"
             "set palette defined (-1 '#0072b2', 0 '#ffffff', 1 '#d55e00')\n"
             "set cbrange [-{0:g}:{0:g}]\nset cbtics {1}\nset xrange [-0.5:{2}.5]\n"
             "set yrange [{3}.5:-0.5]\nset xtics {4} rotate by -35 font ',9'\n"
             "set ytics {5} font ',7'\nplot $cells matrix with image {6} notitle\n",
             scale, ScaleTics(map, scale), map.nodes.size() - 1, map.benchmarks.size() - 1,
             Tics(NodeLabels(map.nodes), kMaxNamedNodes), Tics(names, kMaxNamedBenchmarks),
             map.benchmarks.size() * map.nodes.size() > kMaxRectangles ? "" : "pixels");
}

std::string RoofPanel(const NodeMap& map) {
  if (map.roofs.empty()) return "";
  std::vector<std::string> names;
  for (const auto& [name, values] : map.roofs) names.push_back(name);
  const int top = kTop + MapHeight(map) + kNodeNames + 40;
  return Margins(map, top, top + 170) +
         fmt::format(
             "unset colorbox\nset lmargin at screen 0.1\n"
             "set title 'Each roof over nodes, % from the median'\nset xrange [-0.7:{}]\n"
             "set yrange [*:*] noreverse\nset xtics {} rotate by -20 font ',9'\n"
             "set ytics autofreq font ',9' format '%g %%'\nset grid ytics lc rgb '#dfe4ea' lt 1\n"
             "plot $roofs with points pt 7 ps 0.4 lc rgb '#0072b2' notitle\n",
             static_cast<double>(names.size()) - 0.3, Tics(names, names.size()));
}

constexpr std::string_view kRoofA = "#27313d", kRoofB = "#8a5a00";
constexpr std::size_t kMaxVersusTitles = 15;  // largest number of series in the legend

// Returns the record's point at the farthest level (DRAM, or the cache that holds a warm call's
// tensors), or null if the record has no point.
const roofline::ClassicPoint* DrawnPoint(const roofline::PlacedRun& run, std::size_t record) {
  const auto& points = run.places[record].placement.classic;
  const auto point = std::ranges::max_element(points, {}, &roofline::ClassicPoint::level);
  return point != points.end() && point->intensity > 0 ? &*point : nullptr;
}

roofline::PlacedRun Only(const roofline::PlacedRun& run, const std::set<std::size_t>& records) {
  roofline::PlacedRun some{
      .file = {.context = run.file.context, .machines = run.file.machines, .records = {}},
      .view = run.view};
  for (const auto record : records) {
    some.file.records.push_back(run.file.records[record]);
    some.places.push_back(run.places[record]);
  }
  return some;
}

// Returns a figure of the arithmetic and DRAM roofs for the number of threads of most records.
Figure RoofsOf(const roofline::PlacedRun& whole, const std::set<std::size_t>& records) {
  const auto run = Only(whole, records);
  const auto sets = roofline::RoofSets(run.file.machines);
  const auto main = roofline::MainRoofSet(run, sets);
  if (!main) throw BadInput("figure: a run has no ceilings");
  const auto& roofs = sets[*main];
  return {.roofs = OfLevel(roofs, Level::kDram), .flats = DrawnFlats(run, roofs)};
}

roofline::ClassicMark Drawn(const roofline::PlacedRun& run, std::size_t record,
                            const roofline::ClassicPoint& point) {
  return {.record = record,
          .intensity = point.intensity,
          .flops_per_second = point.flops_per_second,
          .noisy = run.places[record].timing->noisy};
}

void AddSeries(const VersusSeries& series, std::size_t index, Plot& plot) {
  const auto colour = SeriesColour(index);
  std::string from, to, arrows;
  for (const auto& [a, b] : series.arrows) {
    const Point begin(a.intensity, a.flops_per_second), end(b.intensity, b.flops_per_second);
    from += PointRow(begin, colour, a.noisy);
    to += PointRow(end, colour, b.noisy);
    arrows += ArrowRow(begin, end);
  }
  DrawRows(fmt::format("arrows{}", index), arrows,
           fmt::format("with vectors head filled size screen 0.008,20 lw 0.8 lc rgb '{}' notitle",
                       Shade(colour, true)),
           plot);
  DrawRows(fmt::format("from{}", index), from,
           "using 1:2:3 with points pt 6 ps 0.7 lc rgb variable notitle", plot);
  DrawRows(fmt::format("to{}", index), to,
           "using 1:2:3 with points pt 7 ps 0.7 lc rgb variable notitle", plot);
  if (index < kMaxVersusTitles)
    plot.elements.push_back(fmt::format("keyentry with points pt 7 lc rgb '{}' title {} noenhanced",
                                        colour, GnuplotText(series.name)));
}

}  // namespace

std::string BreakdownScript(const roofline::PlacedRun& run, const std::string& extension) {
  Rows rows;
  for (std::size_t i = 0; i < run.places.size(); ++i)
    if (run.places[i].breakdown && run.places[i].timing)
      AddBreakdown(run.file.records[i], run.places[i], rows);
  if (rows.count == 0)
    throw BadInput(
        "figure: no benchmark has a time breakdown (dlroof explain or dlroof_bench "
        "--dlroof_explain "
        "measures it)");
  Plot plot;
  for (const auto& [colour, bars] : rows.bars)
    DrawRows(
        fmt::format("bars{}", plot.elements.size()), bars,
        fmt::format("using 1:3:1:2:($3-0.4):($3+0.4) with boxxyerror lc rgb '{}' notitle", colour),
        plot);
  return SetTerminal(extension, kWidth, kMargins + kRowHeight * rows.count) +
         fmt::format(
             "set xrange [0:100]\nset yrange [{}:-1]\nset border 1\n"
             "set tics nomirror font ',10'\nunset ytics\n"
             "set xlabel 'share of the measured time [%]'\n"
             "set grid xtics lc rgb '#dfe4ea' lt 1\nunset key\nset style fill solid 1.0\n"
             "{}{}",
             rows.count - 1, rows.labels, Joined(plot));
}

TrajectoryFigure MakeTrajectoryFigure(const roofline::PlacedRun& run,
                                      const std::vector<roofline::Trajectory>& trajectories) {
  std::optional<Level> level;  // the farthest one
  for (const auto& trajectory : trajectories)
    if (trajectory.points.size() > 1) level = std::max(level, trajectory.level);
  if (!level) throw BadInput("figure: no trajectory has two points with FLOPs, bytes and ceilings");
  TrajectoryFigure figure{.level = *level};
  std::set<std::pair<std::string, int>> sets;
  for (const auto& trajectory : trajectories) {
    if (!trajectory.level || trajectory.points.size() < 2) continue;
    figure.trajectories.push_back(trajectory);
    for (const auto& point : trajectory.points)
      sets.emplace(run.file.records[point.record].device, point.threads);
  }
  for (const auto& roofs : roofline::RoofSets(run.file.machines))
    if (sets.contains({roofs.device, roofs.threads}))
      figure.roofs.push_back(
          {.roofs = OfLevel(roofs, *level), .level = *level, .flats = DrawnFlats(run, roofs)});
  if (figure.roofs.empty())
    throw BadInput("figure: the file has no ceilings for the trajectories' numbers of threads");
  figure.captions = Captions(run, figure);
  return figure;
}

std::string TrajectoryScript(const TrajectoryFigure& figure, const std::string& extension) {
  const Panel panel = PanelOf(figure);
  Plot plot;
  std::string labels;
  for (const auto& roofs : figure.roofs) {
    const bool most = &roofs == &figure.roofs.front();
    AddRoofLines(roofs, fmt::format("roof{}_", roofs.roofs.threads),
                 fmt::format("lc rgb '{}' lw {}", most ? kStrong : kThin, most ? 1.4 : 0.8), plot);
  }
  for (std::size_t i = 0; i < figure.trajectories.size(); ++i)
    AddTrajectory(figure.trajectories[i], i, figure.trajectories.size() <= kMaxLabelled, plot,
                  labels);
  return ArrowChartScript({640, 0.29, "Roofline trajectories", figure.captions}, extension, panel,
                          RoofNames(figure, panel) + labels, plot);
}

std::string NodeMapScript(const NodeMap& map, const std::string& extension) {
  if (map.nodes.empty() || map.benchmarks.empty())
    throw BadInput("figure: no node has a benchmark with a time");
  return SetTerminal(extension, kMapWidth, HeightOf(map)) + Cells(map) + RoofPoints(map) +
         "set multiplot\nset border 3\nset tics nomirror\nset label " + GnuplotText(map.caption) +
         " at screen 0.5,0.01 center font ',9' noenhanced\n" + MapPanel(map) + "unset label\n" +
         RoofPanel(map) + "unset multiplot\n";
}

VersusFigure MakeVersusFigure(const roofline::PlacedRun& a, const roofline::PlacedRun& b,
                              const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  VersusFigure figure{.operators = pairs.size()};
  std::set<std::size_t> in_a, in_b;
  for (const auto& [i, j] : pairs) {
    in_a.insert(i);
    in_b.insert(j);
  }
  figure.a = RoofsOf(a, in_a);
  figure.b = RoofsOf(b, in_b);
  figure.name_a = MachineNames(a);
  figure.name_b = MachineNames(b);
  for (const auto& [i, j] : pairs) {
    const auto* from = DrawnPoint(a, i);
    const auto* to = DrawnPoint(b, j);
    if (from == nullptr || to == nullptr) continue;
    const auto &first = a.file.records[i], &second = b.file.records[j];
    const auto name =
        fmt::format("{} {}", first.op,
                    first.type == second.type ? first.type : first.type + " to " + second.type);
    auto found = std::ranges::find(figure.series, name, &VersusSeries::name);
    if (found == figure.series.end())
      found = figure.series.insert(figure.series.end(), {.name = name, .arrows = {}});
    found->arrows.emplace_back(Drawn(a, i, *from), Drawn(b, j, *to));
    ++figure.drawn;
  }
  if (figure.drawn == 0)
    throw BadInput("figure: no operator has FLOPs, bytes and ceilings on both sides");
  return figure;
}

std::string VersusScript(const VersusFigure& figure, const std::string& extension) {
  std::vector<roofline::ClassicMark> marks;
  for (const auto& series : figure.series)
    for (const auto& [a, b] : series.arrows) marks.insert(marks.end(), {a, b});
  const Panel panel = SharedPanel({figure.a, figure.b}, marks, 430);
  Plot plot;
  AddRoofLines(figure.a, "roof_a", fmt::format("lc rgb '{}' lw 1.3", kRoofA), plot);
  AddRoofLines(figure.b, "roof_b", fmt::format("lc rgb '{}' lw 1.3", kRoofB), plot);
  for (std::size_t i = 0; i < figure.series.size(); ++i) AddSeries(figure.series[i], i, plot);
  const auto clusters = fmt::format("A (hollow, dark roofs): {}; B (filled, brown roofs): {}",
                                    figure.name_a, figure.name_b);
  const auto how = fmt::format(
      "bytes of DRAM{}, known on both sides of {} of {} operators; pale: noisy (estimate)",
      kOrOfCache, figure.drawn, figure.operators);
  const auto labels =
      RoofLabels(figure.a, panel, [](const std::string& name) { return "A: " + name; }) +
      RoofLabels(figure.b, panel, [](const std::string& name) { return "B: " + name; });
  return ArrowChartScript({660, 0.28, "Two clusters on one roofline", {clusters, how}}, extension,
                          panel, labels, plot);
}

}  // namespace dlroof::figure
