#include <fmt/format.h>

#include <algorithm>
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

// Returns the farthest level of the trajectories that have two points or more.
std::optional<Level> MainLevel(const std::vector<roofline::Trajectory>& trajectories) {
  std::optional<Level> farthest;
  for (const auto& trajectory : trajectories)
    if (trajectory.points.size() > 1) farthest = std::max(farthest, trajectory.level);
  return farthest;
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
  const auto level = MainLevel(trajectories);
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

}  // namespace dlroof::figure
