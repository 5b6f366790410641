#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/model/study.h"
#include "counters/base/error.h"
#include "reporters/figure/figure.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::model {
namespace {

using document::Table;

nlohmann::json TrafficJson(const delta::ConvPrediction& prediction) {
  const auto& traffic = prediction.traffic;
  nlohmann::json json = {
      {"l2_step", delta::L2StepBytes(traffic)},
      {"dram_parts", {{"a", traffic.dram.a}, {"b", traffic.dram.b}, {"c", traffic.dram.c}}}};
  for (const auto& [level, bytes] : delta::KnownBytes(prediction))
    json[std::string(Key(level))] = bytes;
  return json;
}

nlohmann::json LayerJson(const PredictedLayer& layer) {
  const auto& tile = layer.prediction.plan.tile;
  nlohmann::json json = {{"name", layer.layer.name},
                         {"count", layer.layer.count},
                         {"type", layer.layer.question.type},
                         {"tile",
                          {{"m", tile.m},
                           {"n", tile.n},
                           {"k", tile.k},
                           {"slices", tile.slices},
                           {"cluster_m", tile.cluster_m},
                           {"cluster_n", tile.cluster_n}}},
                         {"tile_from", layer.prediction.tile_from},
                         {"bytes", TrafficJson(layer.prediction)},
                         {"seconds", layer.seconds},
                         {"lower_bound_seconds", layer.prediction.time.lower_bound_seconds},
                         {"waves", layer.prediction.time.waves},
                         {"bound", delta::Key(layer.prediction.time.bottleneck)}};
  for (const auto& [bottleneck, clocks] : layer.prediction.time.step_clocks)
    json["step_clocks"][std::string(delta::Key(bottleneck))] = clocks;
  if (layer.layer.measured_seconds) json["measured"]["seconds"] = *layer.layer.measured_seconds;
  for (const auto& [level, bytes] : layer.layer.measured_bytes)
    json["measured"]["bytes"][std::string(Key(level))] = bytes;
  if (const auto residuals = Residuals(layer); !residuals.empty()) json["residuals"] = residuals;
  return json;
}

nlohmann::json GroupJson(const PredictedGroup& group, bool with_layers) {
  nlohmann::json json = {{"name", group.name}, {"seconds", group.seconds}};
  for (const auto& [bottleneck, seconds] : group.bound_seconds)
    json["bound_seconds"][std::string(delta::Key(bottleneck))] = seconds;
  if (with_layers)
    for (const auto& layer : group.layers) json["layers"].push_back(LayerJson(layer));
  if (with_layers)
    for (const auto& layer : group.not_predicted)
      json["not_predicted"].push_back({{"name", layer.name}, {"reason", layer.reason}});
  if (const auto means = MeanAbsoluteResiduals(group); !means.empty()) {
    json["mean_absolute_residuals"] = means;
    json["median_absolute_residuals"] = MedianAbsoluteResiduals(group);
  }
  return json;
}

nlohmann::json DesignJson(const ModelReport& report, const DesignResult& result) {
  nlohmann::json json = {{"scale", result.design.name}};
  for (size_t i = 0; i < result.groups.size(); ++i) {
    auto group = GroupJson(result.groups[i], false);
    group["speedup"] = report.groups[i].seconds / result.groups[i].seconds;
    for (size_t j = 0; j < result.groups[i].layers.size(); ++j) {
      const auto& after = result.groups[i].layers[j];
      group["layers"].push_back({{"name", after.layer.name},
                                 {"speedup", report.groups[i].layers[j].seconds / after.seconds},
                                 {"bound", delta::Key(after.prediction.time.bottleneck)}});
    }
    json["groups"].push_back(std::move(group));
  }
  return json;
}

nlohmann::json SweepJson(const ModelReport& report, const GroupSweep& sweep) {
  nlohmann::json json = {{"name", sweep.group}};
  for (const auto& point : sweep.points) {
    nlohmann::json written = {{"speedup", point.speedup}, {"bound", delta::Key(point.bottleneck)}};
    for (size_t axis = 0; axis < report.axes.size(); ++axis)
      written["scale"][report.axes[axis].resource] = point.factors[axis];
    json["points"].push_back(std::move(written));
  }
  return json;
}

}  // namespace

nlohmann::json ToJson(const ModelReport& report) {
  nlohmann::json json = report.run ? roofline::ToJson(*report.run) : nlohmann::json::object();
  json["model"] = "DeLTA-style";
  json["choice"] = report.choice;
  json["gpu"] = delta::ToJson(report.base.gpu);
  for (const auto& group : report.groups) json["groups"].push_back(GroupJson(group, true));
  for (const auto& design : report.designs) json["designs"].push_back(DesignJson(report, design));
  for (const auto& sweep : report.sweeps) json["sweep"].push_back(SweepJson(report, sweep));
  for (size_t i = 0; i < report.gains.size(); ++i) {
    nlohmann::json next = {{"name", report.groups[i].name}};
    for (const auto& gain : report.gains[i]) next["doubling"][gain.resource] = gain.speedup;
    next["most_useful"] = report.gains[i].front().resource;
    json["next"].push_back(std::move(next));
  }
  return json;
}

namespace {

constexpr double kMinShare = 0.005;  // [1] BoundShares omits smaller ones: they print as 0 %

std::string Factor(double factor) { return fmt::format("{:.2f}x", factor); }

// Returns e.g. "128x64x8", or "128x64x8/4" if K is split into four slices.
std::string TileText(const delta::CtaTile& tile) {
  const auto text = fmt::format("{}x{}x{}", tile.m, tile.n, tile.k);
  return tile.slices > 1 ? fmt::format("{}/{}", text, tile.slices) : text;
}

// Returns the shares of the bottlenecks in the group's time, e.g. "compute 92 %, DRAM 8 %".
std::string BoundShares(const PredictedGroup& group) {
  std::string text;
  for (const auto& [bottleneck, seconds] : group.bound_seconds) {
    if (seconds < kMinShare * group.seconds) continue;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", delta::Key(bottleneck),
                        100 * seconds / group.seconds);
  }
  return text;
}

// Returns how bottlenecks change between two designs, e.g. "compute -> DRAM (9 calls)", or "none".
std::string NewBottlenecks(const PredictedGroup& before, const PredictedGroup& after) {
  std::map<std::string, double> changes;
  for (size_t i = 0; i < before.layers.size(); ++i) {
    const auto from = before.layers[i].prediction.time.bottleneck;
    const auto to = after.layers[i].prediction.time.bottleneck;
    if (from != to)
      changes[fmt::format("{} -> {}", delta::Key(from), delta::Key(to))] +=
          after.layers[i].layer.count;
  }
  std::string text;
  for (const auto& [change, layers] : changes)
    text += fmt::format("{}{} ({} call{})", text.empty() ? "" : ", ", change, layers,
                        layers == 1 ? "" : "s");
  return text.empty() ? "none" : text;
}

Table WhatIf(const ModelReport& report) {
  Table table{.title = "What if",
              .columns = {"design", "model", "faster", "all calls", "bound by", "new bottlenecks"}};
  for (const auto& result : report.designs)
    for (size_t i = 0; i < result.groups.size(); ++i)
      table.rows.push_back({result.design.name, result.groups[i].name,
                            Factor(report.groups[i].seconds / result.groups[i].seconds),
                            text::WithPrefix(result.groups[i].seconds, "s"),
                            BoundShares(result.groups[i]),
                            NewBottlenecks(report.groups[i], result.groups[i])});
  return table;
}

Table BalanceNext(const ModelReport& report) {
  Table table{.title = "Balance next",
              .columns = {"model"},
              .notes = {"Speed-up by doubling one resource at a time" +
                        (report.designs.empty() ? std::string(".")
                                                : fmt::format(", in the design {}.",
                                                              report.designs.back().design.name))}};
  for (const auto resource : delta::ScalableResources()) table.columns.emplace_back(resource);
  for (size_t i = 0; i < report.gains.size(); ++i) {
    auto& row = table.rows.emplace_back(1, report.groups[i].name);
    for (const auto resource : delta::ScalableResources())
      for (const auto& gain : report.gains[i])
        if (gain.resource == resource) row.emplace_back(Factor(gain.speedup));
  }
  return table;
}

// Returns a table with a row per value of the first resource and a column per value of the second.
Table SweepTable(const ModelReport& report, const GroupSweep& sweep) {
  const auto& axes = report.axes;
  Table table{.title = "Sweep, " + sweep.group, .columns = {axes[0].resource}};
  const size_t across = axes.size() > 1 ? axes[1].factors.size() : 1;
  for (size_t i = 0; i < across; ++i)
    table.columns.push_back(axes.size() > 1 ? fmt::format("{} x{}", axes[1].resource,
                                                          text::ThreeDigits(axes[1].factors[i]))
                                            : "faster");
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const auto& point = sweep.points[i];
    if (i % across == 0)
      table.rows.push_back({fmt::format("x{}", text::ThreeDigits(point.factors[0]))});
    table.rows.back().emplace_back(
        fmt::format("{:.3f}x, {}", point.speedup, delta::Key(point.bottleneck)));
  }
  return table;
}

std::string NoteOf(const PredictedGroup& group) {
  std::string note = fmt::format("All calls: {}; bound by {}.",
                                 text::WithPrefix(group.seconds, "s"), BoundShares(group));
  const auto medians = MedianAbsoluteResiduals(group);
  for (const auto& [key, mean] : MeanAbsoluteResiduals(group))
    note += fmt::format(
        " Mean absolute error, predicted against measured, {}: {:.1f} % (median {:.1f} %).", key,
        100 * mean, 100 * medians.at(key));
  return note;
}

Table::Row LayerRow(const PredictedLayer& layer) {
  const auto bytes = delta::KnownBytes(layer.prediction);
  const auto text_of = [&](Level level) {
    const auto found = bytes.find(level);
    return found == bytes.end() ? "-" : text::WithPrefix(found->second, "B");
  };
  return {layer.layer.name,
          fmt::format("{}", layer.layer.count),
          TileText(layer.prediction.plan.tile),
          text_of(Level::kL1),
          text_of(Level::kL2),
          text_of(Level::kDram),
          text::WithPrefix(layer.prediction.time.lower_bound_seconds, "s"),
          text::WithPrefix(layer.seconds, "s"),
          std::string(delta::Key(layer.prediction.time.bottleneck))};
}

std::ptrdiff_t CountFrom(const delta::GpuSpec& gpu, std::string_view source) {
  return std::ranges::count_if(
      gpu.sources, [&](const auto& parameter) { return parameter.second.starts_with(source); });
}

Table LayersTable(const PredictedGroup& group) {
  Table table{
      .title = group.name,
      .columns = {"layer", "calls", "tile", "L1", "L2", "DRAM", "at least", "time", "bound"},
      .notes = {NoteOf(group)}};
  const auto means = MeanAbsoluteResiduals(group);
  for (const auto& [key, mean] : means) table.columns.push_back(key + " error");
  for (const auto& layer : group.layers) {
    auto& row = table.rows.emplace_back(LayerRow(layer));
    const auto residuals = Residuals(layer);
    for (const auto& [key, mean] : means)
      row.emplace_back(residuals.contains(key) ? fmt::format("{:+.1f} %", 100 * residuals.at(key))
                                               : "");
  }
  return table;
}

}  // namespace

document::Document DocumentOf(const ModelReport& report) {
  const auto& gpu = report.base.gpu;
  const auto measured = CountFrom(gpu, "measured on ");
  document::Document document;
  document.Say(fmt::format(
      "DeLTA-style model of {} ({} of its {} figures are assumptions{}: --format=json lists them)",
      gpu.name, CountFrom(gpu, "assumed"), gpu.sources.size(),
      measured > 0 ? fmt::format(", {} measured ceilings", measured) : ""));
  document.Say(report.choice +
               "; modelled, not measured: bytes and times are for comparing designs");
  for (const auto& group : report.groups) {
    document.Add(LayersTable(group));
    Table refused{.columns = {"not predicted", "reason"}};
    for (const auto& layer : group.not_predicted)
      refused.rows.push_back({layer.name, layer.reason});
    document.Add(std::move(refused));
  }
  if (!report.designs.empty()) document.Add(WhatIf(report));
  if (!report.gains.empty()) document.Add(BalanceNext(report));
  for (const auto& sweep : report.sweeps) document.Add(SweepTable(report, sweep));
  return document;
}

namespace {

std::string Terminal(const std::string& extension) {
  if (extension == "pdf") return "set terminal pdfcairo size 9in,5in font 'Helvetica,11'\n";
  if (extension == "png") return "set terminal pngcairo size 1100,600 font 'Helvetica,11'\n";
  return "set terminal svg size 1100,600 font 'Helvetica,13' background '#ffffff'\n";
}

std::string Common(const ModelReport& report) {
  return fmt::format(
      "set title {} noenhanced\nset ylabel 'speed-up [1]'\nset grid ytics\n"
      "set key tmargin center horizontal noenhanced\nset yrange [0:*]\n",
      figure::GnuplotText(report.base.gpu.name + ", " + report.choice + ": DeLTA-style model"));
}

// Returns a label with each part of "sm=2,dram=1.5" on its own line, so that labels do not overlap.
// No escaping is needed: Rescaled accepts only resource names and numbers.
std::string TickLabel(const std::string& design, size_t index) {
  std::string label;
  for (const char c : design) label += c == ',' ? std::string("\\n") : std::string(1, c);
  return fmt::format("{}\"{}\" {}", index == 0 ? "" : ", ", label, index);
}

std::string Bars(const ModelReport& report) {
  std::string data = "$designs << EOD\n", ticks;
  std::ptrdiff_t most_lines = 1;
  for (size_t d = 0; d < report.designs.size(); ++d) {
    const auto& result = report.designs[d];
    const auto& name = result.design.name;
    ticks += TickLabel(name, d);
    most_lines = std::max(most_lines, 1 + std::ranges::count(name, ','));
    for (size_t i = 0; i < report.groups.size(); ++i)
      data += fmt::format(" {:.6g}", report.groups[i].seconds / result.groups[i].seconds);
    data += '\n';
  }
  std::string plots;
  for (size_t i = 0; i < report.groups.size(); ++i)
    plots += fmt::format("$designs using {} title {} lc rgb '{}', ", i + 1,
                         figure::GnuplotText(report.groups[i].name), figure::SeriesColour(i));
  return data +
         fmt::format(
             "EOD\nset datafile separator whitespace\nset style data histograms\n"
             "set style histogram clustered gap 1\nset style fill solid 0.9\n"
             "set xrange [-0.6:{}]\nset bmargin {}\nset xtics nomirror scale 0 noenhanced ({})\n"
             "plot {}1 with lines lw 1.5 lc rgb '#6b7280' title 'as it is'\n",
             static_cast<double>(report.designs.size()) - 0.4, most_lines + 1, ticks, plots);
}

// Draws a line per group and value of the second resource. With several groups, a line's colour
// shows the group and its dashes the value; otherwise each line has its own colour.
std::string Lines(const ModelReport& report) {
  std::string data, plots;
  size_t index = 0;
  for (size_t group = 0; group < report.sweeps.size(); ++group) {
    const auto& sweep = report.sweeps[group];
    std::map<double, std::string> lines;
    for (const auto& point : sweep.points)
      lines[point.factors.size() > 1 ? point.factors[1] : 1] +=
          fmt::format("{:.6g} {:.6g}\n", point.factors[0], point.speedup);
    size_t of_group = 0;
    for (const auto& [second, line] : lines) {
      data += fmt::format("$line{} << EOD\n{}EOD\n", index, line);
      const auto title = report.axes.size() > 1
                             ? fmt::format("{}, {} x{}", sweep.group, report.axes[1].resource,
                                           text::ThreeDigits(second))
                             : sweep.group;
      const size_t colour = report.sweeps.size() > 1 ? group : of_group;
      plots += fmt::format("{}$line{} with linespoints dt {} pt 7 ps 0.6 lw 2 lc rgb '{}' title {}",
                           index == 0 ? "" : ", ", index, ++of_group, figure::SeriesColour(colour),
                           figure::GnuplotText(title));
      ++index;
    }
  }
  return data +
         fmt::format("set xlabel {} noenhanced\nplot ",
                     figure::GnuplotText(report.axes[0].resource + " (x of today)")) +
         plots + "\n";
}

}  // namespace

std::string FigureScript(const ModelReport& report, const std::string& extension) {
  if (report.designs.empty() && report.sweeps.empty())
    throw BadInput("a figure needs --scale or --sweep, and neither was given");
  return Terminal(extension) + Common(report) +
         (report.sweeps.empty() ? Bars(report) : Lines(report));
}

}  // namespace dlroof::model
