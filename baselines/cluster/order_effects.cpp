#include "baselines/cluster/order_effects.h"

#include <algorithm>
#include <functional>
#include <map>

#include "counters/base/error.h"
#include "counters/base/order_statistics.h"

namespace dlroof {
namespace {

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

}  // namespace dlroof
