#include "baselines/cluster/node_effects.h"

#include <algorithm>
#include <functional>
#include <map>

#include "counters/base/error.h"
#include "counters/base/order_statistics.h"

namespace dlroof::cluster {
namespace {

// One value of a node.
using NodeValue = std::pair<std::size_t, double>;

Spread SpreadOf(const std::string& name, const std::vector<NodeValue>& values) {
  std::vector<double> all;
  all.reserve(values.size());
  for (const auto& [node, value] : values) all.push_back(value);
  const auto low = std::ranges::min_element(values, {}, &NodeValue::second);
  const auto high = std::ranges::max_element(values, {}, &NodeValue::second);
  return {.name = name,
          .median = Median(std::move(all)),
          .low = low->second,
          .high = high->second,
          .low_node = low->first,
          .high_node = high->first,
          .nodes = values.size()};
}

std::vector<Spread> RoofSpreads(const Cluster& cluster) {
  std::map<std::string, std::vector<NodeValue>> rows;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i)
    if (cluster.nodes[i].kind == 0)
      for (const auto& [row, value] : cluster.nodes[i].ceilings) rows[row].emplace_back(i, value);
  std::vector<Spread> spreads;
  spreads.reserve(rows.size());
  for (const auto& [row, values] : rows) spreads.push_back(SpreadOf(row, values));
  return spreads;
}

// Returns what one node's ratios say; absent without any.
std::optional<NodeEffect> EffectOf(const NodeEffects& effects, std::size_t node) {
  NodeEffect effect{.node = node};
  std::vector<double> ratios;
  for (std::size_t i = 0; i < effects.ratios.size(); ++i) {
    const auto& ratio = effects.ratios[i][node];
    if (!ratio) continue;
    if (ratios.empty() || *ratio > effect.worst_ratio) {
      effect.worst = i;
      effect.worst_ratio = *ratio;
    }
    ratios.push_back(*ratio);
  }
  if (ratios.empty()) return std::nullopt;
  effect.benchmarks = ratios.size();
  effect.ratio = Median(std::move(ratios));
  return effect;
}

// [s] by node and benchmark.
std::map<std::string, std::map<std::string, double>> SecondsOf(const Cluster& cluster) {
  std::map<std::string, std::map<std::string, double>> seconds;
  for (std::size_t i = 0; i < cluster.run.records.size(); ++i) {
    const auto& record = cluster.run.records[i];
    for (std::size_t j = 0; j < cluster.nodes_of[i].size(); ++j)
      seconds[cluster.nodes[cluster.nodes_of[i][j]].name][record.name] =
          record.repetitions[j].seconds;
  }
  return seconds;
}

std::optional<OrderEffect> EffectOf(const std::string& node,
                                    const std::map<std::string, double>& together,
                                    const std::map<std::string, double>& alone) {
  OrderEffect effect{.node = node, .ci95 = {}, .worst = ""};
  std::vector<double> ratios;
  for (const auto& [name, seconds] : together) {
    const auto other = alone.find(name);
    if (other == alone.end()) continue;
    ratios.push_back(seconds / other->second);
    if (ratios.size() > 1 && ratios.back() <= effect.worst_ratio) continue;
    effect.worst = name;
    effect.worst_ratio = ratios.back();
  }
  if (ratios.empty()) return std::nullopt;
  effect.benchmarks = ratios.size();
  effect.ci95 = MedianInterval95(ratios);
  effect.ratio = Median(std::move(ratios));
  return effect;
}

}  // namespace

std::string RoofText(const std::string& row) {
  auto text = row;
  for (const char* part : {".flops.", ".bytes."})
    if (const auto at = text.find(part); at != std::string::npos) text.replace(at, 7, ".");
  return text;
}

NodeEffects MakeNodeEffects(const Cluster& cluster) {
  NodeEffects effects;
  for (std::size_t i = 0; i < cluster.run.records.size(); ++i) {
    const auto& record = cluster.run.records[i];
    auto& ratios = effects.ratios.emplace_back(cluster.nodes.size());
    std::vector<NodeValue> values;
    for (std::size_t j = 0; j < cluster.nodes_of[i].size(); ++j)
      values.emplace_back(cluster.nodes_of[i][j], record.repetitions[j].seconds);
    if (values.empty()) {
      effects.benchmarks.push_back({.name = record.name});
      continue;
    }
    effects.benchmarks.push_back(SpreadOf(record.name, values));
    for (const auto& [node, seconds] : values)
      ratios[node] = seconds / effects.benchmarks.back().median;
  }
  effects.roofs = RoofSpreads(cluster);
  for (std::size_t node = 0; node < cluster.nodes.size(); ++node)
    if (auto effect = EffectOf(effects, node)) effects.nodes.push_back(*effect);
  std::ranges::stable_sort(effects.nodes, std::ranges::greater{}, &NodeEffect::ratio);
  return effects;
}

std::vector<OrderEffect> OrderEffects(const Cluster& together, const Cluster& alone) {
  const auto of_alone = SecondsOf(alone);
  std::vector<OrderEffect> effects;
  for (const auto& [node, seconds] : SecondsOf(together))
    if (const auto other = of_alone.find(node); other != of_alone.end())
      if (const auto effect = EffectOf(node, seconds, other->second)) effects.push_back(*effect);
  if (effects.empty()) throw BadInput("no node has the time of a benchmark in both files");
  std::ranges::stable_sort(effects, std::ranges::greater{}, &OrderEffect::ratio);
  return effects;
}

}  // namespace dlroof::cluster
