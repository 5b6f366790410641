#include "baselines/cluster/outliers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "counters/base/keys.h"
#include "counters/base/numbers.h"

namespace dlroof::cluster {
namespace {

constexpr KeyRow<NodeVerdict> kVerdicts[] = {
    {NodeVerdict::kSuspect, "suspect"},
    {NodeVerdict::kSlow, "slow"},
    {NodeVerdict::kNotConfirmed, "not confirmed"},
    {NodeVerdict::kLimited, "limited"},
    {NodeVerdict::kDisturbed, "disturbed"},
    {NodeVerdict::kNotConfirmed, "not proved"}};  // in older files

std::optional<double> MedianOf(const std::vector<std::optional<double>>& times,
                               const std::vector<std::size_t>& nodes) {
  std::vector<double> known;
  for (const auto node : nodes)
    if (times[node]) known.push_back(*times[node]);
  return known.empty() ? std::nullopt : std::optional(Median(std::move(known)));
}

// The 90 % quantile of a normal distribution, in standard deviations.
constexpr double kNinthDecile = 1.2816;
// A distribution is skewed if Width::upper / Width::middle is larger than this.
constexpr double kSkewed = 1.35;
constexpr double kShareOfSkew = 0.35;  // [1] a suspect exceeds this share of upper - middle too

// The width of the nodes' effects, as standard deviations [1] of a normal distribution: from the
// median absolute deviation, and from the upper decile.
struct Width {
  double middle = 0, upper = 0;
};

Width WidthOf(const std::vector<std::optional<double>>& effects,
              const std::vector<std::size_t>& nodes) {
  std::vector<double> known;
  for (const auto node : nodes)
    if (effects[node]) known.push_back(*effects[node]);
  if (known.empty()) return {};
  std::ranges::sort(known);
  const double middle = Median(known);
  const double decile =
      known[static_cast<std::size_t>(0.9 * static_cast<double>(known.size() - 1))];
  for (auto& effect : known) effect = std::abs(effect - middle);
  constexpr double kNormal = 1.4826;  // standard deviation / median absolute deviation
  return {kNormal * Median(std::move(known)), (decile - middle) / kNinthDecile};
}

// Returns the effect that a suspect must exceed, for this number of nodes.
double SuspectEffect(const RowGroup& group, bool first_group, const Width& width, std::size_t nodes,
                     const OutlierRules& rules) {
  const double few = 1 + 4 / static_cast<double>(nodes);  // the width of few nodes is uncertain
  const double wide = few * width.middle;
  if (group.lone) return std::max(rules.lone_effect, rules.lone_deviations * wide);
  if (!first_group) return std::max(rules.effect, rules.deviations * wide);
  const double skew = width.upper > kSkewed * width.middle ? width.upper - width.middle : 0;
  return std::max(rules.effect,
                  std::min(rules.most_effect, rules.deviations * wide) + kShareOfSkew * skew);
}

}  // namespace

std::string_view Key(NodeVerdict verdict) { return KeyIn(kVerdicts, verdict); }

std::optional<NodeVerdict> NodeVerdictFromKey(std::string_view key) {
  return ValueIn(kVerdicts, key);
}

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
                                const std::vector<std::size_t>& nodes, const OutlierRules& rules) {
  std::vector<Suspect> suspects;
  if (nodes.size() < rules.least_nodes) return suspects;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const auto effects = EffectsOf(first, groups[group], nodes);
    const double least =
        SuspectEffect(groups[group], group == 0, WidthOf(effects, nodes), nodes.size(), rules);
    for (const auto node : nodes)
      if (effects[node] && *effects[node] > least)
        suspects.push_back({node, group, *effects[node]});
  }
  return suspects;
}

std::vector<std::size_t> ControlsFor(const VisitTimes& first, const RowGroup& all,
                                     const std::vector<std::size_t>& nodes,
                                     const std::vector<Suspect>& suspects,
                                     const OutlierRules& rules) {
  std::set<std::size_t> suspected;
  for (const auto& suspect : suspects) suspected.insert(suspect.node);
  const auto effects = EffectsOf(first, all, nodes);
  std::vector<std::size_t> controls;
  for (const auto node : nodes)
    if (effects[node] && !suspected.contains(node)) controls.push_back(node);
  std::ranges::stable_sort(controls, {},
                           [&](std::size_t node) { return std::abs(*effects[node]); });
  if (controls.size() > rules.controls) controls.resize(rules.controls);
  std::ranges::sort(controls);
  return controls;
}

std::vector<Finding> JudgeNodes(const std::vector<Suspect>& suspects,
                                const std::vector<RowGroup>& groups,
                                const std::vector<VisitTimes>& further,
                                const std::vector<std::size_t>& controls,
                                const OutlierRules& rules) {
  // [visit][group][node]
  std::vector<std::vector<std::vector<std::optional<double>>>> effects;
  for (const auto& visit : further) {
    auto& of_visit = effects.emplace_back();
    for (const auto& group : groups) of_visit.push_back(EffectsOf(visit, group, controls));
  }
  std::vector<Finding> findings;
  for (const auto& suspect : suspects) {
    Finding finding{.node = suspect.node,
                    .what = groups[suspect.group].name,
                    .ratio = std::exp(suspect.effect)};
    std::vector<double> seen;
    for (const auto& visit : effects)
      if (const auto& effect = visit[suspect.group][suspect.node]) seen.push_back(*effect);
    if (!seen.empty()) finding.ratio = std::exp(Median(seen));
    finding.visits = static_cast<int>(seen.size());
    if (finding.visits >= rules.visits)
      finding.verdict =
          std::log(finding.ratio) > rules.effect ? NodeVerdict::kSlow : NodeVerdict::kNotConfirmed;
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace dlroof::cluster
