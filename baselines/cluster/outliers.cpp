#include "baselines/cluster/outliers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <set>
#include <tuple>

#include "baselines/cluster/gather.h"
#include "baselines/statistics/shift.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"

namespace dlroof::cluster {
namespace {

// Returns the known values of these nodes.
std::vector<double> KnownOf(const std::vector<std::optional<double>>& values,
                            const std::vector<std::size_t>& nodes) {
  std::vector<double> known;
  for (const auto node : nodes)
    if (values[node]) known.push_back(*values[node]);
  return known;
}

std::optional<double> MedianOf(const std::vector<std::optional<double>>& values,
                               const std::vector<std::size_t>& nodes) {
  const auto known = KnownOf(values, nodes);
  return known.empty() ? std::nullopt : std::optional(Median(known));
}

// [standard deviations] The 90 % quantile of a normal distribution.
constexpr double kNinthDecile = 1.2816;
// A distribution is skewed if Width::upper / Width::middle is larger than this.
constexpr double kSkewed = 1.35;
// [1] share of (Width::upper - Width::middle) that a skewed distribution adds to the threshold
constexpr double kShareOfSkew = 0.35;

// The width of the distribution of the nodes' effects: the standard deviation [1] of the normal
// distribution with the same median absolute deviation (middle) or upper decile (upper).
struct Width {
  double middle = 0, upper = 0;
};

Width WidthOf(const std::vector<std::optional<double>>& effects,
              const std::vector<std::size_t>& nodes) {
  auto known = KnownOf(effects, nodes);
  if (known.empty()) return {};
  std::ranges::sort(known);
  const double middle = Median(known);
  const double decile =
      known[static_cast<std::size_t>(0.9 * static_cast<double>(known.size() - 1))];
  return {statistics::RobustDeviation(known, middle), (decile - middle) / kNinthDecile};
}

// Returns the effect [1] above which a node is a suspect in this group. `nodes`: number of nodes.
double SuspectEffect(const RowGroup& group, bool first_group, const Width& width,
                     std::size_t nodes) {
  // [1] The effect must also exceed this number of standard deviations of the nodes' effects, so
  // that few nodes are suspects by chance if nodes scatter much.
  constexpr double kDeviations = 5, kLoneDeviations = 12;
  constexpr double kLoneEffect = 0.1;  // [1] minimum effect of a roof that is judged by itself
  // [1] Upper limit of the threshold that kDeviations sets for the group of all benchmarks. More is
  // added to it if the distribution of the effects is skewed.
  constexpr double kMaxThreshold = 0.055;
  const double few = 1 + 4 / static_cast<double>(nodes);  // the width of few nodes is uncertain
  const double wide = few * width.middle;
  if (group.lone) return std::max(kLoneEffect, kLoneDeviations * wide);
  if (!first_group) return std::max(kSlowEffect, kDeviations * wide);
  const double skew = width.upper > kSkewed * width.middle ? width.upper - width.middle : 0;
  return std::max(kSlowEffect, std::min(kMaxThreshold, kDeviations * wide) + kShareOfSkew * skew);
}

constexpr double kThrottledShare = 0.01;  // [1] min share of throttled periods
constexpr double kStealShare = 0.05;      // [1] min difference from the median node's share
constexpr double kMinOfSteal = 10;        // [s] of measurement: steal is counted in ticks of 10 ms
constexpr double kNoisyShare = 0.5;       // [1] min share of noisy repetitions
constexpr double kNoisierThanOthers = 0.4;  // [1] min difference from the median node's share
constexpr double kSlowerThanOthers = 1.25;  // [1] min ratio to the median node's wall_over_clean
constexpr std::size_t kMinNodes = 3;        // the median of fewer nodes may be the judged node

bool IsUnderQuota(const ClusterNode& node) {
  const auto& load = node.facts.load;
  if (load.quota_cpus && node.facts.cpus_specified && *load.quota_cpus < *node.facts.cpus_specified)
    return true;
  return load.periods && load.throttled && *load.throttled > kThrottledShare * *load.periods;
}

// The medians over nodes with which a node is compared. For fewer than kMinNodes nodes the optional
// members are not set, and steal_share is 0.
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

using Traits = std::map<std::string, std::string>;

constexpr const char* kMemory = "memory";
constexpr const char* kAlgorithms = "algorithms";
// [1] Nodes whose memory sizes differ by at most this factor are equal: firmware and kernel reserve
// different amounts.
constexpr double kSameMemory = 1.03;

// Returns 23.5 for "23.5 GiB"; 0 if `text` does not begin with a number.
double NumberIn(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

// Maps each size of memory in `all` to the smallest size, in the same unit, that counts as equal.
std::map<std::string, std::string> SameMemory(const std::vector<Traits>& all) {
  std::set<std::pair<double, std::string>> sizes;
  for (const auto& traits : all) {
    const auto size = FindCopy(traits, kMemory);
    if (size && NumberIn(*size) > 0) sizes.emplace(NumberIn(*size), *size);
  }
  // "1.5 TiB" and "1.5 GiB" have the same number but different units.
  const auto unit = [](const std::string& text) { return text.substr(text.rfind(' ') + 1); };
  std::map<std::string, std::string> same;
  auto first = sizes.begin();
  for (auto size = sizes.begin(); size != sizes.end(); ++size) {
    if (size->first > kSameMemory * first->first || unit(size->second) != unit(first->second))
      first = size;
    same[size->second] = first->second;
  }
  return same;
}

// Returns the algorithm of each benchmark that most nodes used; in a tie, the first by name.
std::map<std::string, std::string> UsualAlgorithms(const std::vector<NodeSummary>& summaries,
                                                   const std::vector<std::size_t>& nodes) {
  std::map<std::string, std::map<std::string, int>> counts;
  for (const auto node : nodes)
    for (const auto& [benchmark, algorithm] : summaries[node].algorithms)
      ++counts[benchmark][algorithm];
  std::map<std::string, std::string> usual;
  for (const auto& [benchmark, of_benchmark] : counts)
    usual[benchmark] = std::ranges::max_element(of_benchmark, {}, [](const auto& count) {
                         return count.second;
                       })->first;
  return usual;
}

// Returns e.g. "3 benchmarks, such as X: ref, most nodes: jit", or nullopt if the node used the
// usual algorithm for every benchmark.
std::optional<std::string> UnusualAlgorithms(const NodeSummary& summary,
                                             const std::map<std::string, std::string>& usual) {
  std::size_t count = 0;
  std::string first;
  for (const auto& [benchmark, algorithm] : summary.algorithms) {
    const auto& most = usual.at(benchmark);
    if (algorithm == most) continue;
    if (count++ == 0) first = fmt::format("{}: {}, most nodes: {}", benchmark, algorithm, most);
  }
  if (count == 0) return std::nullopt;
  return fmt::format("{} benchmark{}, such as {}", count, count == 1 ? "" : "s", first);
}

// Adds the node to the kind with its machines and these traits; makes the kind if there is none.
void AddNode(const NodeSummary& summary, const Traits& traits, std::size_t node,
             std::vector<ClusterKind>& kinds) {
  auto found = std::ranges::find_if(kinds, [&](const ClusterKind& kind) {
    return kind.fingerprints == summary.machines && kind.traits == traits;
  });
  if (found == kinds.end())
    found = kinds.insert(kinds.end(), {summary.machine_name, summary.machines, traits, {}});
  found->nodes.push_back(node);
}

void LargestFirst(std::vector<ClusterKind>& kinds) {
  std::ranges::stable_sort(kinds, std::ranges::greater{},
                           [](const ClusterKind& kind) { return kind.nodes.size(); });
}

}  // namespace

std::vector<std::optional<double>> EffectsOf(const VisitTimes& times, const RowGroup& group,
                                             const std::vector<std::size_t>& reference) {
  const std::size_t nodes = times.empty() ? 0 : times.front().size();
  std::vector<std::vector<double>> logs(nodes);
  for (const auto row : group.rows) {
    const auto middle = MedianOf(times[row], reference);
    if (!middle) continue;
    for (std::size_t node = 0; node < nodes; ++node)
      if (const auto& time = times[row][node]) logs[node].push_back(std::log(*time / *middle));
  }
  std::vector<std::optional<double>> effects(nodes);
  for (std::size_t node = 0; node < nodes; ++node)
    if (!logs[node].empty()) effects[node] = Median(std::move(logs[node]));
  if (const auto shift = MedianOf(effects, reference))
    for (auto& effect : effects)
      if (effect) *effect -= *shift;
  return effects;
}

std::vector<Suspect> SuspectsOf(const VisitTimes& first, const std::vector<RowGroup>& groups,
                                const std::vector<std::size_t>& nodes) {
  std::vector<Suspect> suspects;
  if (nodes.size() < kMinJudgedNodes) return suspects;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const auto effects = EffectsOf(first, groups[group], nodes);
    const double least =
        SuspectEffect(groups[group], group == 0, WidthOf(effects, nodes), nodes.size());
    for (const auto node : nodes)
      if (effects[node] && *effects[node] > least)
        suspects.push_back({node, group, *effects[node]});
  }
  return suspects;
}

std::vector<std::size_t> ControlsFor(const VisitTimes& first, const RowGroup& all,
                                     const std::vector<std::size_t>& nodes,
                                     const std::vector<Suspect>& suspects, std::size_t most) {
  const auto effects = EffectsOf(first, all, nodes);
  auto controls = nodes;
  std::erase_if(controls, [&](std::size_t node) { return !effects[node]; });
  for (const auto& suspect : suspects) std::erase(controls, suspect.node);
  std::ranges::stable_sort(controls, {},
                           [&](std::size_t node) { return std::abs(*effects[node]); });
  if (controls.size() > most) controls.resize(most);
  std::ranges::sort(controls);
  return controls;
}

std::vector<Finding> JudgeNodes(const std::vector<Suspect>& suspects,
                                const std::vector<RowGroup>& groups,
                                const std::vector<VisitTimes>& further,
                                const std::vector<std::size_t>& controls) {
  std::vector<Finding> findings;
  for (const auto& suspect : suspects) {
    Finding finding{.node = suspect.node,
                    .what = groups[suspect.group].name,
                    .ratio = std::exp(suspect.effect)};
    std::vector<double> seen;
    for (const auto& visit : further)
      if (const auto effect = EffectsOf(visit, groups[suspect.group], controls)[suspect.node])
        seen.push_back(*effect);
    if (!seen.empty()) finding.ratio = std::exp(Median(seen));
    finding.visits = static_cast<int>(seen.size());
    if (finding.visits >= kFurtherVisits)
      finding.verdict =
          std::log(finding.ratio) > kSlowEffect ? NodeVerdict::kSlow : NodeVerdict::kNotConfirmed;
    findings.push_back(std::move(finding));
  }
  return findings;
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

std::vector<ClusterKind> KindsOf(const std::vector<NodeSummary>& summaries,
                                 const std::vector<bool>& counts) {
  auto traits = VectorOf<Traits>(summaries, &NodeSummary::traits);
  const auto memory = SameMemory(traits);
  for (auto& of_node : traits)
    if (auto* size = FindValue(of_node, kMemory)) *size = FindCopy(memory, *size).value_or(*size);
  std::vector<ClusterKind> by_traits, kinds;
  for (std::size_t i = 0; i < summaries.size(); ++i)
    if (counts[i]) AddNode(summaries[i], traits[i], i, by_traits);
  LargestFirst(by_traits);
  for (const auto& kind : by_traits) {
    const auto usual = UsualAlgorithms(summaries, kind.nodes);
    for (const auto node : kind.nodes) {
      auto of_node = traits[node];
      if (const auto unusual = UnusualAlgorithms(summaries[node], usual))
        of_node[kAlgorithms] = *unusual;
      AddNode(summaries[node], of_node, node, kinds);
    }
  }
  LargestFirst(kinds);
  return kinds;
}

std::vector<std::string> DifferencesOf(const ClusterKind& kind, const ClusterKind& most_common) {
  std::vector<std::string> differences;
  if (kind.fingerprints != most_common.fingerprints)
    differences.push_back(fmt::format("machine: {}, most nodes: {}", kind.name, most_common.name));
  std::set<std::string> keys;
  for (const auto* of : {&kind, &most_common})
    for (const auto& [key, value] : of->traits) keys.insert(key);
  const auto text = [](const ClusterKind& of, const std::string& key) {
    return FindCopy(of.traits, key).value_or("unknown");
  };
  for (const auto& key : keys) {
    if (text(kind, key) == text(most_common, key)) continue;
    if (key == kAlgorithms)
      differences.push_back(fmt::format("algorithms of {}", text(kind, key)));
    else
      differences.push_back(
          fmt::format("{}: {}, most nodes: {}", key, text(kind, key), text(most_common, key)));
  }
  return differences;
}

}  // namespace dlroof::cluster
