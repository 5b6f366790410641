#include "bench/model/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <sstream>

#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::model {
namespace {

std::string Header(const ModelReport& report) {
  const auto& gpu = report.base.gpu;
  const int measured = MeasuredCeilings(gpu);
  return fmt::format(
      "DeLTA-style model of {} ({} of its {} figures are assumptions{}: --format=json lists them)\n"
      "{}; modelled, not measured: bytes and times are for comparing designs\n",
      text::Printable(gpu.name), Assumptions(gpu), gpu.sources.size(),
      measured > 0 ? fmt::format(", {} measured ceilings", measured) : "", report.choice);
}

std::string Text(const std::vector<ModelTable>& tables) {
  std::ostringstream text;
  for (const auto& table : tables) {
    text << '\n' << text::Printable(table.title) << (table.title.empty() ? "" : "\n");
    if (!table.note.empty()) text << text::Printable(table.note) << '\n';
    std::vector<std::vector<std::string>> rows(1);
    for (const auto& column : table.columns) rows[0].push_back(column.title);
    for (const auto& row : table.rows)
      std::transform(row.begin(), row.end(), std::back_inserter(rows.emplace_back()),
                     text::Printable);
    text::WriteAligned(rows, 0, text);
  }
  return text.str();
}

nlohmann::json TrafficJson(const delta::ConvPrediction& prediction) {
  const auto& traffic = prediction.traffic;
  nlohmann::json json = {
      {"l2_step", delta::L2StepBytes(traffic)},
      {"dram_parts", {{"a", traffic.dram.a}, {"b", traffic.dram.b}, {"c", traffic.dram.c}}}};
  for (const auto& [level, bytes] : delta::KnownBytes(prediction))
    json[std::string(Key(level))] = bytes;
  return json;
}

nlohmann::json LayerJson(const PredictedLayer& one) {
  const auto& tile = one.prediction.plan.tile;
  nlohmann::json json = {{"name", one.layer.name},
                         {"count", one.layer.count},
                         {"type", one.layer.question.type},
                         {"tile",
                          {{"m", tile.m},
                           {"n", tile.n},
                           {"k", tile.k},
                           {"slices", tile.slices},
                           {"cluster_m", tile.cluster_m},
                           {"cluster_n", tile.cluster_n}}},
                         {"tile_from", one.prediction.tile_from},
                         {"bytes", TrafficJson(one.prediction)},
                         {"seconds", one.seconds},
                         {"lower_bound_seconds", one.prediction.time.lower_bound_seconds},
                         {"waves", one.prediction.time.waves},
                         {"bound", delta::Key(one.prediction.time.bottleneck)}};
  if (one.prediction.relative_error95 > 0)
    json["sampling_error95"] = one.prediction.relative_error95;
  for (const auto& [bottleneck, clocks] : one.prediction.time.step_clocks)
    json["step_clocks"][std::string(delta::Key(bottleneck))] = clocks;
  if (one.layer.measured_seconds) json["measured"]["seconds"] = *one.layer.measured_seconds;
  for (const auto& [level, bytes] : one.layer.measured_bytes)
    json["measured"]["bytes"][std::string(Key(level))] = bytes;
  if (const auto residuals = Residuals(one); !residuals.empty()) json["residuals"] = residuals;
  return json;
}

nlohmann::json GroupJson(const PredictedGroup& group, bool with_layers) {
  nlohmann::json json = {{"name", group.name}, {"seconds", group.seconds}};
  for (const auto& [bottleneck, seconds] : group.bound_seconds)
    json["bound_seconds"][std::string(delta::Key(bottleneck))] = seconds;
  if (with_layers)
    for (const auto& one : group.layers) json["layers"].push_back(LayerJson(one));
  if (with_layers)
    for (const auto& one : group.not_predicted)
      json["not_predicted"].push_back({{"name", one.name}, {"reason", one.reason}});
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
    nlohmann::json one = {{"speedup", point.speedup}, {"bound", delta::Key(point.bottleneck)}};
    for (size_t axis = 0; axis < report.axes.size(); ++axis)
      one["scale"][report.axes[axis].resource] = point.factors[axis];
    json["points"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

std::string Table(const ModelReport& report) {
  std::string table = Header(report);
  for (const auto& group : report.groups) table += Text(GroupTables(group));
  return table + Text(DesignTables(report));
}

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

// Smaller shares would be printed as 0 %.
constexpr double kMinShare = 0.005;

std::string Factor(double factor) { return fmt::format("{:.2f}x", factor); }

// Returns "128x64x8", or "128x64x8/4" if K is split into four slices.
std::string TileText(const delta::CtaTile& tile) {
  const auto text = fmt::format("{}x{}x{}", tile.m, tile.n, tile.k);
  return tile.slices > 1 ? fmt::format("{}/{}", text, tile.slices) : text;
}

// Returns the share of each bottleneck in the group's time: "compute 92 %, DRAM 8 %".
std::string BoundShares(const PredictedGroup& group) {
  std::string text;
  for (const auto& [bottleneck, seconds] : group.bound_seconds) {
    if (seconds < kMinShare * group.seconds) continue;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", delta::Key(bottleneck),
                        100 * seconds / group.seconds);
  }
  return text;
}

// Returns the changes of bottlenecks between two designs, "compute -> DRAM (9 calls)", or "none".
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

ModelTable WhatIf(const ModelReport& report) {
  ModelTable table{"What if",
                   "",
                   {{"design", "name"},
                    {"model", ""},
                    {"faster", "number"},
                    {"all calls", "number"},
                    {"bound by", ""},
                    {"new bottlenecks", "note"}},
                   {}};
  for (const auto& result : report.designs)
    for (size_t i = 0; i < result.groups.size(); ++i)
      table.rows.push_back({result.design.name, result.groups[i].name,
                            Factor(report.groups[i].seconds / result.groups[i].seconds),
                            text::WithPrefix(result.groups[i].seconds, "s"),
                            BoundShares(result.groups[i]),
                            NewBottlenecks(report.groups[i], result.groups[i])});
  return table;
}

ModelTable BalanceNext(const ModelReport& report) {
  ModelTable table{"Balance next",
                   "Speed-up by doubling one resource at a time" +
                       (report.designs.empty() ? std::string(".")
                                               : fmt::format(", in the design {}.",
                                                             report.designs.back().design.name)),
                   {{"model", ""}},
                   {}};
  for (const auto resource : delta::ScalableResources())
    table.columns.push_back({std::string(resource), "number"});
  for (size_t i = 0; i < report.gains.size(); ++i) {
    auto& row = table.rows.emplace_back(1, report.groups[i].name);
    for (const auto resource : delta::ScalableResources())
      for (const auto& gain : report.gains[i])
        if (gain.resource == resource) row.push_back(Factor(gain.speedup));
  }
  return table;
}

// Returns a table with a row per value of the first resource and a column per value of the second.
ModelTable SweepTable(const ModelReport& report, const GroupSweep& sweep) {
  const auto& axes = report.axes;
  ModelTable table{"Sweep, " + sweep.group, "", {{axes[0].resource, "number"}}, {}};
  const size_t across = axes.size() > 1 ? axes[1].factors.size() : 1;
  for (size_t i = 0; i < across; ++i)
    table.columns.push_back({axes.size() > 1 ? fmt::format("{} x{}", axes[1].resource,
                                                           text::ThreeDigits(axes[1].factors[i]))
                                             : "faster",
                             "number"});
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const auto& point = sweep.points[i];
    if (i % across == 0)
      table.rows.push_back({fmt::format("x{}", text::ThreeDigits(point.factors[0]))});
    table.rows.back().push_back(
        fmt::format("{:.3f}x, {}", point.speedup, delta::Key(point.bottleneck)));
  }
  return table;
}

std::string NoteOf(const PredictedGroup& group) {
  std::string note = fmt::format("All calls: {}; bound by {}.",
                                 text::WithPrefix(group.seconds, "s"), BoundShares(group));
  double error = 0;
  for (const auto& one : group.layers) error = std::max(error, one.prediction.relative_error95);
  if (error > 0) note += fmt::format(" Sampled: bytes of L1 within {:.2g} % (95 %).", 100 * error);
  const auto medians = MedianAbsoluteResiduals(group);
  for (const auto& [key, mean] : MeanAbsoluteResiduals(group))
    note += fmt::format(
        " Mean absolute error, predicted against measured, {}: {:.1f} % (median {:.1f} %).", key,
        100 * mean, 100 * medians.at(key));
  return note;
}

std::vector<std::string> LayerRow(const PredictedLayer& one) {
  const auto bytes = delta::KnownBytes(one.prediction);
  const auto text_of = [&](Level level) {
    const auto found = bytes.find(level);
    return found == bytes.end() ? "-" : text::WithPrefix(found->second, "B");
  };
  return {one.layer.name,
          fmt::format("{}", one.layer.count),
          TileText(one.prediction.plan.tile),
          text_of(Level::kL1),
          text_of(Level::kL2),
          text_of(Level::kDram),
          text::WithPrefix(one.prediction.time.lower_bound_seconds, "s"),
          text::WithPrefix(one.seconds, "s"),
          std::string(delta::Key(one.prediction.time.bottleneck))};
}

}  // namespace

int Assumptions(const delta::GpuSpec& gpu) {
  return static_cast<int>(std::ranges::count_if(
      gpu.sources, [](const auto& source) { return source.second.starts_with("assumed"); }));
}

int MeasuredCeilings(const delta::GpuSpec& gpu) {
  return static_cast<int>(std::ranges::count_if(
      gpu.sources, [](const auto& source) { return source.second.starts_with("measured on "); }));
}

std::vector<ModelTable> DesignTables(const ModelReport& report) {
  std::vector<ModelTable> tables;
  if (!report.designs.empty()) tables.push_back(WhatIf(report));
  if (!report.gains.empty()) tables.push_back(BalanceNext(report));
  for (const auto& sweep : report.sweeps) tables.push_back(SweepTable(report, sweep));
  return tables;
}

std::vector<ModelTable> GroupTables(const PredictedGroup& group) {
  ModelTable layers{group.name,
                    NoteOf(group),
                    {{"layer", "name"},
                     {"calls", "number"},
                     {"tile", "number"},
                     {"L1", "number"},
                     {"L2", "number"},
                     {"DRAM", "number"},
                     {"at least", "number"},
                     {"time", "number"},
                     {"bound", "bound"}},
                    {}};
  const auto means = MeanAbsoluteResiduals(group);
  for (const auto& [key, mean] : means) layers.columns.push_back({key + " error", "number"});
  for (const auto& one : group.layers) {
    auto& row = layers.rows.emplace_back(LayerRow(one));
    const auto residuals = Residuals(one);
    for (const auto& [key, mean] : means)
      row.push_back(residuals.count(key) > 0 ? fmt::format("{:+.1f} %", 100 * residuals.at(key))
                                             : "");
  }
  ModelTable refused{"", "", {{"not predicted", "name"}, {"reason", "note"}}, {}};
  for (const auto& one : group.not_predicted) refused.rows.push_back({one.name, one.reason});
  if (refused.rows.empty()) return {layers};
  return {layers, refused};
}

}  // namespace dlroof::model
