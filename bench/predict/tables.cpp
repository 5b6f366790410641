// The tables of report.h.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/predict/report.h"
#include "reporters/text/units.h"

namespace dlroof::predict {
namespace {

// Less would print as 0 %.
constexpr double kLeastShare = 0.005;

std::string Factor(double factor) { return fmt::format("{:.2f}x", factor); }

// "128x64x8", "128x64x8/4" with K in four slices.
std::string TileText(const delta::CtaTile& tile) {
  const auto text = fmt::format("{}x{}x{}", tile.m, tile.n, tile.k);
  return tile.slices > 1 ? fmt::format("{}/{}", text, tile.slices) : text;
}

// "compute 92 %, DRAM 8 %" of the time, from 0.5 % on.
std::string BoundShares(const PredictedGroup& group) {
  std::string text;
  for (const auto& [bottleneck, seconds] : group.bound_seconds) {
    if (seconds < kLeastShare * group.seconds) continue;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", delta::Key(bottleneck),
                        100 * seconds / group.seconds);
  }
  return text;
}

// "compute -> DRAM (9 calls)": layers that another resource bounds than before; "none".
std::string NewBottlenecks(const PredictedGroup& before, const PredictedGroup& after) {
  std::map<std::string, double> changes;
  for (size_t i = 0; i < before.layers.size(); ++i) {
    const auto from = before.layers[i].prediction.time.bottleneck;
    const auto to = after.layers[i].prediction.time.bottleneck;
    if (from != to)
      changes[fmt::format("{} -> {}", delta::Key(from), delta::Key(to))] += after.layers[i].layer.count;
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
                   "How much faster twice of one resource makes it, each by itself" +
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

// Draws the second of two resources along the row.
ModelTable SweepTable(const ModelReport& report, const GroupSweep& sweep) {
  const auto& axes = report.axes;
  ModelTable table{"Sweep, " + sweep.group, "", {{axes[0].resource, "number"}}, {}};
  const size_t across = axes.size() > 1 ? axes[1].factors.size() : 1;
  for (size_t i = 0; i < across; ++i)
    table.columns.push_back(
        {axes.size() > 1 ? fmt::format("{} x{}", axes[1].resource, text::ThreeDigits(axes[1].factors[i]))
                         : "faster",
         "number"});
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const auto& point = sweep.points[i];
    if (i % across == 0) table.rows.push_back({fmt::format("x{}", text::ThreeDigits(point.factors[0]))});
    table.rows.back().push_back(fmt::format("{:.3f}x, {}", point.speedup, delta::Key(point.bottleneck)));
  }
  return table;
}

std::string NoteOf(const PredictedGroup& group) {
  std::string note = fmt::format("All calls: {}; bound by {}.", text::WithPrefix(group.seconds, "s"),
                                 BoundShares(group));
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
  const auto& traffic = one.prediction.traffic;
  return {one.layer.name,
          fmt::format("{}", one.layer.count),
          TileText(one.prediction.plan.tile),
          text::WithPrefix(delta::L1Bytes(traffic), "B"),
          text::WithPrefix(delta::L2TileBytes(traffic), "B"),
          text::WithPrefix(delta::Total(traffic.dram), "B"),
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
  ModelTable refused{"", "", {{"not predicted", "name"}, {"why", "note"}}, {}};
  for (const auto& one : group.not_predicted) refused.rows.push_back({one.name, one.reason});
  if (refused.rows.empty()) return {layers};
  return {layers, refused};
}

}  // namespace dlroof::predict
