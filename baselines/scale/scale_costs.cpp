#include "baselines/scale/scale_costs.h"

#include <fmt/format.h>

#include <algorithm>

#include "reporters/text/units.h"

namespace dlroof::scaling {
namespace {

constexpr double kSamples = 1e6;

void AddLine(const std::string& title, const std::vector<ScaleRow>& rows,
             const std::optional<NodePrice>& price, std::vector<CostLine>& lines) {
  if (!price || rows.empty()) return;
  CostLine line{.title = title, .points = {}};
  for (const auto& row : rows) {
    const double seconds = kSamples / row.samples_per_second_bucketed;
    line.points.push_back({.nodes = row.nodes,
                           .seconds = seconds,
                           .cost = row.nodes * price->per_hour / 3600 * seconds});
  }
  lines.push_back(std::move(line));
}

bool Beats(const CostPoint& a, const CostPoint& b) {
  return a.seconds <= b.seconds && a.cost <= b.cost && (a.seconds < b.seconds || a.cost < b.cost);
}

void MarkBest(std::vector<CostLine>& lines) {
  for (auto& line : lines)
    for (auto& point : line.points)
      point.best = std::ranges::none_of(lines, [&](const CostLine& other) {
        return std::ranges::any_of(other.points,
                                   [&](const CostPoint& by) { return Beats(by, point); });
      });
}

}  // namespace

std::optional<NodePrice> DevicePrice(const cluster::Prices& prices, const std::vector<machine::Machine>& machines,
                                     int devices) {
  for (const auto& machine : machines) {
    const auto* price = cluster::PriceOf(prices, machine);
    if (price == nullptr) continue;
    const int count = price->devices.value_or(devices);
    return NodePrice{price->per_node_hour / count,
                     count == 1 ? price->how : fmt::format("{}, of {} devices", price->how, count)};
  }
  return std::nullopt;
}

std::vector<CostLine> CostLines(const ScaleCase& one, const ScaleReport& report) {
  std::vector<CostLine> lines;
  const auto model = fmt::format("{} {}", one.steps.model, one.steps.type);
  const auto name = fmt::format("{} {}", model, one.steps.library);
  AddLine(fmt::format("{}, weak, {:g} per node", name, one.batch), one.weak, report.price, lines);
  AddLine(fmt::format("{}, strong, {:g} of all", name, one.batch_of_all.value_or(0)), one.strong,
          report.price, lines);
  if (one.goal)
    AddLine(fmt::format("other cluster: {} {}, weak, {:g} per node", model, one.goal->library,
                        one.goal->batch),
            one.goal->theirs_weak, report.their_price, lines);
  MarkBest(lines);
  return lines;
}

std::vector<std::string> CostNotes(const ScaleCase& one, const ScaleReport& report) {
  std::vector<std::string> notes;
  for (const auto& line : CostLines(one, report)) {
    const auto text = [&](const CostPoint& point) {
      return fmt::format("{} {} in {} on {} node{}", text::ThreeDigits(point.cost), report.currency,
                         text::WithPrefix(point.seconds, "s"), point.nodes, point.nodes == 1 ? "" : "s");
    };
    notes.push_back(
        fmt::format("a million samples ({}), in buckets: cheapest {}; fastest {}", line.title,
                    text(*std::ranges::min_element(line.points, {}, &CostPoint::cost)),
                    text(*std::ranges::min_element(line.points, {}, &CostPoint::seconds))));
  }
  return notes;
}

}  // namespace dlroof::scaling
