#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "counters/base/error.h"
#include "reporters/figure/cluster_figures.h"
#include "reporters/figure/figure.h"
#include "reporters/figure/panel.h"

namespace dlroof::figure {
namespace {

constexpr std::string_view kRoofA = "#27313d", kRoofB = "#8a5a00";
constexpr std::size_t kMaxVersusTitles = 15;  // series in the legend

// Returns the point of the farthest level: DRAM, or the cache that holds a warm call's tensors.
const roofline::ClassicPoint* DrawnPoint(const roofline::PlacedRun& run, std::size_t record) {
  const auto& points = run.places[record].placement.classic;
  const auto point = std::ranges::max_element(points, {}, &roofline::ClassicPoint::level);
  return point != points.end() && point->intensity > 0 ? &*point : nullptr;
}

// Returns the run with only these records.
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

// Returns the roofs of arithmetic and DRAM for the number of threads of most of these records.
Figure RoofsOf(const roofline::PlacedRun& whole, const std::set<std::size_t>& records) {
  const auto run = Only(whole, records);
  const auto sets = roofline::RoofSets(run.file.machines);
  const auto main = roofline::MainRoofSet(run, sets);
  if (!main) throw BadInput("figure: a run has no ceilings");
  auto roofs = sets[*main];
  const auto flats = DrawnFlats(run, roofs);
  std::erase_if(roofs.bytes,
                [&](const roofline::Roof& roof) { return roof.key != Key(Level::kDram); });
  return {.roofs = std::move(roofs), .flats = flats};
}

roofline::ClassicMark Drawn(const roofline::PlacedRun& run, std::size_t record,
                            const roofline::ClassicPoint& point) {
  return {.record = record,
          .intensity = point.intensity,
          .flops_per_second = point.flops_per_second,
          .noisy = run.places[record].timing->noisy};
}

// Returns the series of a pair: op and type, without direction and libraries.
std::string SeriesName(const record::Record& a, const record::Record& b) {
  return fmt::format("{} {}", a.op, a.type == b.type ? a.type : a.type + " to " + b.type);
}

Panel PanelOf(const VersusFigure& figure) {
  std::vector<roofline::ClassicMark> marks;
  for (const auto& series : figure.series)
    for (const auto& [a, b] : series.arrows) marks.insert(marks.end(), {a, b});
  return SharedPanel({figure.a, figure.b}, marks, 430);
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
  plot.blocks += fmt::format(
      "$from{0} << EOD\n{1}EOD\n$to{0} << EOD\n{2}EOD\n$arrows{0} << EOD\n"
      "{3}EOD\n",
      index, from, to, arrows);
  plot.elements.push_back(
      fmt::format("$arrows{} with vectors head filled size screen 0.008,20 lw 0.8 lc rgb '{}' "
                  "notitle",
                  index, Shade(colour, true)));
  plot.elements.push_back(
      fmt::format("$from{} using 1:2:3 with points pt 6 ps 0.7 lc rgb variable notitle", index));
  plot.elements.push_back(
      fmt::format("$to{} using 1:2:3 with points pt 7 ps 0.7 lc rgb variable notitle", index));
  if (index < kMaxVersusTitles)
    plot.elements.push_back(fmt::format("keyentry with points pt 7 lc rgb '{}' title {} noenhanced",
                                        colour, GnuplotText(series.name)));
}

}  // namespace

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
    const auto name = SeriesName(a.file.records[i], b.file.records[j]);
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
  const Panel panel = PanelOf(figure);
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
