#include "baselines/cluster/interference.h"

#include <algorithm>
#include <utility>

#include "counters/base/numbers.h"

namespace dlroof::cluster {
namespace {

constexpr double kThrottledShare = 0.01;    // [1] of the periods
constexpr double kStealShare = 0.05;        // [1] of the CPUs' time
constexpr double kMinOfSteal = 10;          // [s] the system counts in ticks of 10 ms
constexpr double kNoisyShare = 0.5;         // [1] of the repetitions
constexpr double kNoisierThanOthers = 0.4;  // [1] difference of shares
constexpr double kSlowerThanOthers = 1.25;  // [1] ratio of wall_over_clean
constexpr std::size_t kMinNodes = 3;        // a median of fewer is one of the node itself

Finding FindingOf(const InterferedNode& node, const char* what, NodeVerdict verdict) {
  return {.node = node.node,
          .what = what,
          .ratio = std::max(1.0, node.seen.wall_over_clean.value_or(1)),
          .verdict = verdict};
}

bool IsUnderQuota(const InterferedNode& node) {
  const auto& load = node.load;
  if (load.quota_cpus && node.cpus && *load.quota_cpus < *node.cpus) return true;
  return load.periods && load.throttled && *load.throttled > kThrottledShare * *load.periods;
}

// The medians over nodes that a node is compared with.
struct Usual {
  double noisy_share = 0;      // [1]
  double wall_over_clean = 1;  // [1]
};

// Returns whether the host took more of the node's CPUs than of the median node's.
bool IsStolenFrom(const InterferedNode& node, double usual_share) {
  const auto& load = node.load;
  return load.steal_share && load.wall_seconds.value_or(0) >= kMinOfSteal &&
         *load.steal_share > usual_share + kStealShare;
}

double UsualSteal(const std::vector<InterferedNode>& nodes) {
  std::vector<double> shares;
  for (const auto& node : nodes)
    if (node.load.steal_share) shares.push_back(*node.load.steal_share);
  return shares.size() < kMinNodes ? 0 : Median(std::move(shares));
}

std::optional<Usual> UsualOf(const std::vector<InterferedNode>& nodes) {
  std::vector<double> shares, ratios;
  for (const auto& node : nodes) {
    if (node.seen.repetitions > 0) shares.push_back(node.seen.NoisyShare());
    if (node.seen.wall_over_clean) ratios.push_back(*node.seen.wall_over_clean);
  }
  if (shares.size() < kMinNodes || ratios.size() < kMinNodes) return std::nullopt;
  return Usual{Median(std::move(shares)), Median(std::move(ratios))};
}

bool IsDisturbed(const InterferedNode& node, const Usual& usual) {
  const double share = node.seen.NoisyShare();
  if (share >= kNoisyShare && share >= usual.noisy_share + kNoisierThanOthers) return true;
  return node.seen.wall_over_clean &&
         *node.seen.wall_over_clean >= kSlowerThanOthers * usual.wall_over_clean;
}

}  // namespace

double Interference::NoisyShare() const {
  return repetitions == 0 ? 0 : static_cast<double>(noisy) / static_cast<double>(repetitions);
}

std::vector<Finding> InterferenceFindings(const std::vector<InterferedNode>& nodes) {
  const auto usual = UsualOf(nodes);
  const double usual_steal = UsualSteal(nodes);
  std::vector<Finding> findings;
  for (const auto& node : nodes) {
    const bool quota = IsUnderQuota(node);
    const bool steal = IsStolenFrom(node, usual_steal);
    if (quota) findings.push_back(FindingOf(node, "quota", NodeVerdict::kLimited));
    if (steal) findings.push_back(FindingOf(node, "steal", NodeVerdict::kDisturbed));
    if (!quota && !steal && usual && IsDisturbed(node, *usual))
      findings.push_back(FindingOf(node, "neighbours", NodeVerdict::kDisturbed));
  }
  return findings;
}

}  // namespace dlroof::cluster
