// Made-up clusters whose slow nodes are known.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>
#include <ranges>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "baselines/cluster/outliers.h"

namespace dlroof {

// Standard deviations of logarithms of times.
struct SimulatedNoise {
  std::string name;          // "normal 0.4 / 0.4 / 1 %"
  std::string distribution;  // "normal", "t3", "skew"
  double node = 0;           // [1] by which nodes truly differ
  double visit = 0;          // [1] of a node between visits
  double benchmark = 0;      // [1] of a benchmark within a visit
};
struct SimulatedRequest {
  int nodes = 64;
  SimulatedNoise noise;
  unsigned seed = 1;
  int slow = 0;      // the first nodes are slower
  double shift = 0;  // [1] by this much
};
struct SimulatedResult {
  int false_slow = 0;  // [1] nodes called slow that are not slower than the rules' effect
  int true_slow = 0;   // [1] of the `slow` ones that were called slow
  int suspects = 0;
  bool fixed_rule = false;  // a benchmark of some node takes 5 % more than its mean over nodes
};

inline constexpr std::size_t kSimulatedBenchmarks = 40, kSimulatedRoofs = 8;
inline constexpr std::size_t kSimulatedRows = kSimulatedBenchmarks + kSimulatedRoofs;

// Returns the groups that judge a cluster's nodes: all benchmarks, all roofs, each roof.
inline std::vector<RowGroup> SimulatedGroups() {
  std::vector<RowGroup> groups = {
      {"all", std::vector<std::size_t>(kSimulatedBenchmarks)},
      {"ceilings", std::vector<std::size_t>(kSimulatedRoofs)},
  };
  std::iota(groups[0].rows.begin(), groups[0].rows.end(), 0);
  std::iota(groups[1].rows.begin(), groups[1].rows.end(), kSimulatedBenchmarks);
  for (const auto row : groups[1].rows) groups.push_back({"one", {row}, true});
  return groups;
}

// Returns whether the rule without statistics calls something slow, by its benchmarks.
inline bool FixedRule(const VisitTimes& times) {
  return std::ranges::any_of(times | std::views::take(kSimulatedBenchmarks), [](const auto& row) {
    double sum = 0, most = 0;
    for (const auto& time : row) {
      sum += *time;
      most = std::max(most, *time);
    }
    return most > 1.05 * sum / static_cast<double>(row.size());
  });
}

// A cluster with its true effects.
class SimulatedNodes {
 public:
  explicit SimulatedNodes(const SimulatedRequest& request)
      : request_(request), source_(request.seed * 2654435761U + request.nodes) {
    for (std::size_t i = 0; i < kSimulatedRows; ++i)
      deviation_.push_back(request.noise.benchmark * std::exp(0.5 * normal_(source_)));
    for (int i = 0; i < request.nodes; ++i) effect_.push_back(request.noise.node * Draw());
    for (int i = 0; i < request.slow; ++i) effect_[i] = std::log1p(request.shift);
    auto sorted = effect_;
    std::ranges::nth_element(sorted, sorted.begin() + request.nodes / 2);
    const double middle = sorted[request.nodes / 2];
    for (auto& one : effect_) one -= middle;
  }

  double effect(std::size_t node) const { return effect_[node]; }

  VisitTimes Visit(const std::vector<std::size_t>& nodes) {
    VisitTimes times(kSimulatedRows, std::vector<std::optional<double>>(effect_.size()));
    for (const auto node : nodes) {
      const double of_visit = effect_[node] + request_.noise.visit * Draw();
      for (std::size_t i = 0; i < kSimulatedRows; ++i)
        times[i][node] = std::exp(of_visit + deviation_[i] * Draw());
    }
    return times;
  }

 private:
  // Median 0; standard deviation 1.
  double Draw() {
    if (request_.noise.distribution == "skew") return exponential_(source_) - std::log(2.0);
    if (request_.noise.distribution == "t3") return student_(source_) / std::sqrt(3.0);
    return normal_(source_);
  }

  const SimulatedRequest& request_;
  std::mt19937 source_;
  std::normal_distribution<> normal_;
  std::student_t_distribution<> student_{3};
  std::exponential_distribution<> exponential_;
  std::vector<double> deviation_, effect_;
};

inline const char* Asked() { return std::getenv("DLROOF_SIMULATED_CLUSTERS"); }

// Returns the nine noises of the study: three sizes, three distributions.
inline std::vector<SimulatedNoise> SimulatedNoises() {
  std::vector<SimulatedNoise> noises;
  for (const auto& [node, visit, benchmark] :
       {std::tuple(0.004, 0.004, 0.01), {0.01, 0.01, 0.03}, {0.01, 0.02, 0.05}})
    for (const char* distribution : {"normal", "t3", "skew"})
      noises.push_back({fmt::format("{} | {:g} | {:g} | {:g}", distribution, 100 * node,
                                    100 * visit, 100 * benchmark),
                        distribution, node, visit, benchmark});
  return noises;
}

// Visits all nodes once, suspects and controls as often as needed, and judges.
inline SimulatedResult VisitSimulated(const SimulatedRequest& request) {
  const OutlierRules rules;
  SimulatedNodes cluster(request);
  std::vector<std::size_t> nodes(request.nodes);
  std::iota(nodes.begin(), nodes.end(), 0);
  const auto groups = SimulatedGroups();
  const auto first = cluster.Visit(nodes);
  const auto suspects = SuspectsOf(first, groups, nodes, rules);
  const auto controls = ControlsFor(first, groups[0], nodes, suspects, rules);
  auto visited = controls;
  for (const auto& suspect : suspects) visited.push_back(suspect.node);
  std::vector<VisitTimes> further;
  for (int i = 0; i < VisitsNeeded(suspects.size(), rules); ++i)
    further.push_back(cluster.Visit(visited));
  SimulatedResult result{.suspects = static_cast<int>(suspects.size()),
                         .fixed_rule = FixedRule(first)};
  std::set<std::size_t> slow;
  for (const auto& finding : JudgeNodes(suspects, groups, further, controls, rules))
    if (finding.verdict == NodeVerdict::kSlow) slow.insert(finding.node);
  for (const auto node : slow) {
    const bool planted = node < static_cast<std::size_t>(request.slow);
    result.true_slow += planted;
    result.false_slow += !planted && cluster.effect(node) <= rules.effect;
  }
  return result;
}

// Returns how many clean clusters of each noise: DLROOF_SIMULATED_CLUSTERS, else 19.
inline int SimulatedClusters() {
  return Asked() == nullptr ? 19 : std::max(19, std::atoi(Asked()));
}

// Writes a line of the study's table where DLROOF_SIMULATED_CLUSTERS is set.
inline void PrintSimulated(const SimulatedNoise& noise, int with_false, int fixed, int of,
                           int found, int slow) {
  if (Asked() != nullptr)
    std::cout << fmt::format("| {} | {} of {} | {} of {} | {} of {} |\n", noise.name, fixed, of,
                             with_false, of, found, slow);
}

}  // namespace dlroof
