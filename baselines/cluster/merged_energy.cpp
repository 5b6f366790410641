#include "baselines/cluster/merged_energy.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "counters/base/order_statistics.h"

namespace dlroof {
namespace {

bool CountTheSame(const Energy& a, const Energy& b) {
  const auto names_equal = [](const auto& x, const auto& y) { return x.first == y.first; };
  return a.from == b.from && a.covers == b.covers &&
         std::ranges::equal(a.domains, b.domains, names_equal) &&
         std::ranges::equal(a.beside, b.beside, names_equal);
}

}  // namespace

std::optional<Energy> MergedEnergy(const std::vector<Energy>& nodes) {
  if (nodes.empty()) return std::nullopt;
  const Energy& first = nodes.front();
  if (!std::ranges::all_of(nodes, [&](const Energy& one) { return CountTheSame(first, one); }))
    return std::nullopt;
  const auto values = [&](const std::function<double(const Energy&)>& value) {
    std::vector<double> all;
    std::ranges::transform(nodes, std::back_inserter(all), value);
    return all;
  };
  Energy merged = first;
  const auto joules = values(&Energy::joules);
  merged.joules = Median(joules);
  merged.ci95 = MedianInterval95(joules);
  merged.seconds = Median(values(&Energy::seconds));
  merged.window_seconds = std::ranges::min(values(&Energy::window_seconds));
  merged.calls = Median(values(&Energy::calls));
  for (const auto domains : {&Energy::domains, &Energy::beside})
    for (auto& domain : merged.*domains)
      domain.second =
          Median(values([&](const Energy& one) { return (one.*domains).at(domain.first); }));
  merged.others_cpus.reset();
  for (const Energy& one : nodes)
    if (one.others_cpus)
      merged.others_cpus = std::max(merged.others_cpus.value_or(0), *one.others_cpus);
  return merged;
}

}  // namespace dlroof
