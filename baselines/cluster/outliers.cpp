#include "baselines/cluster/outliers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "counters/base/keys.h"
#include "counters/base/numbers.h"

namespace dlroof::cluster {
namespace {

constexpr KeyRow<NodeVerdict> kVerdicts[] = {{NodeVerdict::kSuspect, "suspect"},
                                             {NodeVerdict::kSlow, "slow"},
                                             {NodeVerdict::kNotConfirmed, "not confirmed"},
                                             {NodeVerdict::kNotConfirmed, "not proved"}};  // older

std::optional<double> MedianOf(const std::vector<std::optional<double>>& times,
                               const std::vector<std::size_t>& nodes) {
  std::vector<double> known;
  for (const auto node : nodes)
    if (times[node]) known.push_back(*times[node]);
  return known.empty() ? std::nullopt : std::optional(Median(std::move(known)));
}

double LeastEffect(const RowGroup& group, const OutlierRules& rules) {
  return group.lone ? rules.lone_effect : rules.effect;
}

// Adjusts the p-values of all findings together (Holm 1979).
void AdjustAsHolm(std::vector<Finding>& findings) {
  std::vector<Finding*> tested;
  for (auto& finding : findings)
    if (finding.p) tested.push_back(&finding);
  std::ranges::stable_sort(tested, {}, [](const Finding* one) { return *one->p; });
  double highest = 0;
  for (std::size_t i = 0; i < tested.size(); ++i) {
    highest = std::max(highest, *tested[i]->p * static_cast<double>(tested.size() - i));
    tested[i]->p = std::min(1.0, highest);
  }
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
  return effects;
}

std::vector<Suspect> SuspectsOf(const VisitTimes& first, const std::vector<RowGroup>& groups,
                                const std::vector<std::size_t>& nodes, const OutlierRules& rules) {
  std::vector<Suspect> suspects;
  if (nodes.size() < rules.least_nodes) return suspects;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const auto effects = EffectsOf(first, groups[group], nodes);
    for (const auto node : nodes)
      if (effects[node] && *effects[node] > LeastEffect(groups[group], rules))
        suspects.push_back({node, group, *effects[node]});
  }
  return suspects;
}

int VisitsNeeded(std::size_t suspects, const OutlierRules& rules) {
  if (suspects == 0) return 0;
  const double least = std::log2(static_cast<double>(suspects) / rules.error) + 1;
  return std::max(rules.least_visits, static_cast<int>(std::ceil(least)));
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

double SignTest(int above, int visits) {
  double probability = 0, term = std::pow(0.5, visits);  // the probability of `visits` heads
  for (int heads = visits; heads >= above; --heads) {
    probability += term;
    term *= static_cast<double>(heads) / (visits - heads + 1);
  }
  return probability;
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
    if (!seen.empty()) {
      finding.visits = static_cast<int>(seen.size());
      finding.ratio = std::exp(Median(seen));
      if (const auto ci95 = MedianInterval95(seen))
        finding.ci95 = std::pair(std::exp(ci95->first), std::exp(ci95->second));
      const double least = LeastEffect(groups[suspect.group], rules);
      const auto above = std::ranges::count_if(seen, [&](double effect) { return effect > least; });
      finding.p = SignTest(static_cast<int>(above), finding.visits);
    }
    findings.push_back(std::move(finding));
  }
  AdjustAsHolm(findings);
  for (auto& finding : findings)
    if (finding.p)
      finding.verdict = *finding.p <= rules.error ? NodeVerdict::kSlow : NodeVerdict::kNotConfirmed;
  return findings;
}

}  // namespace dlroof::cluster
