#include <algorithm>
#include <tuple>
#include <utility>

#include "baselines/cluster/node_effects.h"
#include "counters/base/numbers.h"

namespace dlroof::cluster {
namespace {

constexpr double kThrottledShare = 0.01;  // [1] min share of throttled periods
constexpr double kStealShare = 0.05;      // [1] min difference from the median node's share
constexpr double kMinOfSteal = 10;        // [s] of measurement: steal is counted in ticks of 10 ms
constexpr double kNoisyShare = 0.5;       // [1] min share of noisy repetitions
constexpr double kNoisierThanOthers = 0.4;  // [1] min difference from the median node's share
constexpr double kSlowerThanOthers = 1.25;  // [1] min ratio to the median node's wall_over_clean
constexpr std::size_t kMinNodes = 3;        // a median of fewer may be the node itself

bool IsUnderQuota(const ClusterNode& node) {
  const auto& load = node.facts.load;
  if (load.quota_cpus && node.facts.cpus_specified && *load.quota_cpus < *node.facts.cpus_specified)
    return true;
  return load.periods && load.throttled && *load.throttled > kThrottledShare * *load.periods;
}

// The medians over nodes with which a node is compared. Not set for fewer than kMinNodes nodes.
struct Usual {
  std::optional<double> noisy_share, wall_over_clean;  // [1] both are set or none
  double steal_share = 0;                              // [1]
};

// Returns whether the node's steal share is much larger than the median node's (`usual_share`).
bool IsStolenFrom(const ClusterNode& node, double usual_share) {
  const auto& load = node.facts.load;
  return load.steal_share && load.wall_seconds.value_or(0) >= kMinOfSteal &&
         *load.steal_share > usual_share + kStealShare;
}

Usual UsualOf(const std::vector<ClusterNode>& nodes, const std::vector<std::size_t>& indices) {
  std::vector<double> steal, noisy, ratios;
  for (const auto i : indices) {
    const auto& [load, seen] = std::tie(nodes[i].facts.load, nodes[i].interference);
    if (load.steal_share) steal.push_back(*load.steal_share);
    if (seen.repetitions > 0) noisy.push_back(seen.NoisyShare());
    if (seen.wall_over_clean) ratios.push_back(*seen.wall_over_clean);
  }
  Usual usual;
  if (steal.size() >= kMinNodes) usual.steal_share = Median(std::move(steal));
  if (noisy.size() < kMinNodes || ratios.size() < kMinNodes) return usual;
  usual.noisy_share = Median(std::move(noisy));
  usual.wall_over_clean = Median(std::move(ratios));
  return usual;
}

bool IsDisturbed(const ClusterNode& node, const Usual& usual) {
  if (!usual.noisy_share) return false;
  const double share = node.interference.NoisyShare();
  return (share >= kNoisyShare && share >= *usual.noisy_share + kNoisierThanOthers) ||
         node.interference.wall_over_clean >= kSlowerThanOthers * *usual.wall_over_clean;
}

}  // namespace

double Interference::NoisyShare() const {
  return repetitions == 0 ? 0 : static_cast<double>(noisy) / static_cast<double>(repetitions);
}

std::vector<Finding> InterferenceFindings(const std::vector<ClusterNode>& nodes,
                                          const std::vector<std::size_t>& indices) {
  const auto usual = UsualOf(nodes, indices);
  std::vector<Finding> findings;
  for (const auto i : indices) {
    const auto& node = nodes[i];
    const auto add = [&](const char* what, NodeVerdict verdict) {
      const double ratio = std::max(1.0, node.interference.wall_over_clean.value_or(1));
      findings.push_back({.node = i, .what = what, .ratio = ratio, .verdict = verdict});
    };
    const bool quota = IsUnderQuota(node), steal = IsStolenFrom(node, usual.steal_share);
    if (quota) add("quota", NodeVerdict::kLimited);
    if (steal) add("steal", NodeVerdict::kDisturbed);
    if (!quota && !steal && IsDisturbed(node, usual)) add("neighbours", NodeVerdict::kDisturbed);
  }
  return findings;
}

}  // namespace dlroof::cluster
