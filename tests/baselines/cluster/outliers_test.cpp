#include "baselines/cluster/outliers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

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

#include "baselines/cluster/node_effects.h"
#include "tests/baselines/cluster/fake_nodes.h"

namespace dlroof::cluster {
namespace {

using testing::ElementsAre, testing::HasSubstr, testing::IsEmpty, testing::SizeIs;

const RowGroup kAll{"all", {0, 1, 2}};
const std::vector<std::size_t> kFive = {0, 1, 2, 3, 4};

// Three benchmarks on five nodes; the last node takes `ratio` times as long.
VisitTimes LastIsSlower(double ratio) {
  VisitTimes times(3, std::vector<std::optional<double>>(5, 1.0));
  for (std::size_t i = 0; i < 3; ++i)
    for (auto& time : times[i]) *time *= 1.0 + static_cast<double>(i);
  for (auto& row : times) *row[4] *= ratio;
  return times;
}

TEST(EffectsOf, IsTheMedianOverBenchmarksBesideTheReference) {
  auto times = LastIsSlower(1.1);
  times[0][4] = 5;  // a single outlier has no effect
  times[1][0].reset();
  const auto effects = EffectsOf(times, kAll, {0, 1, 2, 3});
  EXPECT_NEAR(*effects[4], std::log(1.1), 1e-12);
  EXPECT_NEAR(*effects[0], 0, 1e-12);
  times[0][0].reset();
  times[2][0].reset();
  EXPECT_FALSE(EffectsOf(times, kAll, {1, 2, 3})[0]);
}

TEST(SuspectsOf, ExceedTheEffectInOneVisitAndOneRowByItselfHasAWiderEffect) {
  EXPECT_THAT(SuspectsOf(LastIsSlower(1.02), {kAll}, kFive), IsEmpty());
  const auto suspects = SuspectsOf(LastIsSlower(1.1), {kAll}, kFive);
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects[0].node, 4);
  EXPECT_THAT(SuspectsOf(LastIsSlower(1.1), {kAll}, {1, 2, 3, 4}), IsEmpty());
  // 1.06 exceeds the effect of a group, and not that of one row without a median.
  const RowGroup lone{"cpu.dram", {1}, true};
  EXPECT_THAT(SuspectsOf(LastIsSlower(1.06), {kAll}, kFive), SizeIs(1));
  EXPECT_THAT(SuspectsOf(LastIsSlower(1.06), {lone}, kFive), IsEmpty());
  EXPECT_THAT(SuspectsOf(LastIsSlower(1.2), {lone}, kFive), SizeIs(1));
}

TEST(ControlsFor, AreTheOrdinaryNodes) {
  auto times = LastIsSlower(1.1);
  for (auto& row : times) *row[1] *= 1.02;
  const auto suspects = SuspectsOf(times, {kAll}, kFive);
  EXPECT_THAT(ControlsFor(times, kAll, kFive, suspects, 3), ElementsAre(0, 2, 3));
}

// Returns how the last node is judged by visits in which it takes these multiples of its time.
Finding Judged(const std::vector<double>& ratios) {
  std::vector<VisitTimes> visits;
  for (const double ratio : ratios) visits.push_back(LastIsSlower(ratio));
  return JudgeNodes({{4, 0, std::log(1.2)}}, {kAll}, visits, {0, 1, 2, 3}).at(0);
}

// Slow by more than 3 % in the median of five visits or more; with fewer it stays a suspect.
TEST(JudgeNodes, TheMedianOfFiveVisitsDecides) {
  for (const auto& [ratios, verdict, median] :
       std::vector<std::tuple<std::vector<double>, NodeVerdict, double>>{
           {{1.0, 1.0, 1.04, 1.05, 1.3}, NodeVerdict::kSlow, 1.04},
           {{1.0, 1.0, 1.02, 1.3, 1.3}, NodeVerdict::kNotConfirmed, 1.02},
           {{1.1, 1.1, 1.1, 1.1, 1.0, 1.0, 1.0}, NodeVerdict::kSlow, 1.1},
           {{1.1, 1.1, 1.1, 1.0, 1.0, 1.0, 1.0}, NodeVerdict::kNotConfirmed, 1.0},
           {{1.1, 1.1, 1.1, 1.1}, NodeVerdict::kSuspect, 1.1},
           {{}, NodeVerdict::kSuspect, 1.2}}) {
    const auto finding = Judged(ratios);
    EXPECT_EQ(finding.verdict, verdict) << testing::PrintToString(ratios);
    EXPECT_NEAR(finding.ratio, median, 1e-12) << testing::PrintToString(ratios);
    EXPECT_EQ(finding.visits, std::ssize(ratios));
  }
}

// --- Simulated clusters: seeded, and more of them with DLROOF_SIMULATED_CLUSTERS=760 ---

// Standard deviations of logarithms of times.
struct SimulatedNoise {
  std::string name;          // "normal 0.4 / 0.4 / 1 %"
  std::string distribution;  // "normal", "t3", "skew"
  double node = 0;           // [1] true differences between nodes
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
  int false_slow = 0;       // [1] nodes called slow that are not slower than the rules' effect
  int true_slow = 0;        // [1] of the `slow` ones that were called slow
  int suspects = 0;         // [1] ordinary nodes that are suspects
  bool fixed_rule = false;  // a benchmark of some node takes 5 % more than its mean over nodes
};

constexpr std::size_t kSimulatedBenchmarks = 40, kSimulatedRoofs = 8;
constexpr std::size_t kSimulatedRows = kSimulatedBenchmarks + kSimulatedRoofs;

// Returns the groups that judge a cluster's nodes: all benchmarks, all roofs, each roof.
std::vector<RowGroup> SimulatedGroups() {
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
bool FixedRule(const VisitTimes& times) {
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
    for (auto& effect : effect_) effect -= middle;
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

const char* Asked() { return std::getenv("DLROOF_SIMULATED_CLUSTERS"); }

// Returns the nine noises of the study: three sizes, three distributions.
std::vector<SimulatedNoise> SimulatedNoises() {
  std::vector<SimulatedNoise> noises;
  for (const auto& [node, visit, benchmark] :
       {std::tuple(0.004, 0.004, 0.01), {0.01, 0.01, 0.03}, {0.01, 0.02, 0.05}})
    for (const char* distribution : {"normal", "t3", "skew"})
      noises.push_back({fmt::format("{} | {:g} | {:g} | {:g}", distribution, 100 * node,
                                    100 * visit, 100 * benchmark),
                        distribution, node, visit, benchmark});
  return noises;
}

// Visits all nodes once, suspects and controls five times more, and judges.
SimulatedResult VisitSimulated(const SimulatedRequest& request) {
  SimulatedNodes cluster(request);
  std::vector<std::size_t> nodes(request.nodes);
  std::iota(nodes.begin(), nodes.end(), 0);
  const auto groups = SimulatedGroups();
  const auto first = cluster.Visit(nodes);
  const auto suspects = SuspectsOf(first, groups, nodes);
  const auto controls = ControlsFor(first, groups[0], nodes, suspects);
  auto visited = controls;
  for (const auto& suspect : suspects) visited.push_back(suspect.node);
  std::vector<VisitTimes> further;
  for (int i = 0; i < kFurtherVisits; ++i) further.push_back(cluster.Visit(visited));
  SimulatedResult result{.fixed_rule = FixedRule(first)};
  std::set<std::size_t> ordinary;
  for (const auto& suspect : suspects)
    if (suspect.node >= static_cast<std::size_t>(request.slow) &&
        cluster.effect(suspect.node) <= kSlowEffect)
      ordinary.insert(suspect.node);
  result.suspects = static_cast<int>(ordinary.size());
  std::set<std::size_t> slow;
  for (const auto& finding : JudgeNodes(suspects, groups, further, controls))
    if (finding.verdict == NodeVerdict::kSlow) slow.insert(finding.node);
  for (const auto node : slow) {
    const bool planted = node < static_cast<std::size_t>(request.slow);
    result.true_slow += planted;
    result.false_slow += !planted && cluster.effect(node) <= kSlowEffect;
  }
  return result;
}

// Returns how many clean clusters of each noise: DLROOF_SIMULATED_CLUSTERS, else 19.
int SimulatedClusters() { return Asked() == nullptr ? 19 : std::max(19, std::atoi(Asked())); }

// Writes a line of the study's table where DLROOF_SIMULATED_CLUSTERS is set.
void PrintSimulated(const SimulatedNoise& noise, int with_false, int fixed, int of, int found,
                    int slow, double suspects) {
  if (Asked() != nullptr)
    std::cout << fmt::format("| {} | {} of {} | {} of {} | {} of {} | {:.2f} % |\n", noise.name,
                             fixed, of, with_false, of, found, slow, 100 * suspects);
}

TEST(SimulatedClusters, FewOrdinaryNodesAreCalledSlowAndSlowOnesAreFound) {
  const int clusters = SimulatedClusters();
  double suspects = 0, ordinary = 0;
  for (const auto& noise : SimulatedNoises()) {
    int with_false = 0, fixed = 0, of = 0, found = 0, slow = 0;
    double suspects_here = 0, ordinary_here = 0;
    for (const auto& [nodes, share] :
         {std::pair(8, 400.0 / 760), {64, 300.0 / 760}, {1024, 60.0 / 760}})
      for (int i = 0; i < std::max(1, static_cast<int>(std::lround(share * clusters))); ++i, ++of) {
        const auto seen = VisitSimulated({.nodes = nodes, .noise = noise, .seed = 1000U * of});
        with_false += seen.false_slow > 0;
        fixed += seen.fixed_rule;
        suspects_here += seen.suspects;
        ordinary_here += nodes;
      }
    for (int i = 0; i < std::max(30, clusters / 5); ++i) {
      found +=
          VisitSimulated({.nodes = 64, .noise = noise, .seed = 77U + i, .slow = 2, .shift = 0.08})
              .true_slow;
      slow += 2;
    }
    suspects += suspects_here;
    ordinary += ordinary_here;
    PrintSimulated(noise, with_false, fixed, of, found, slow, suspects_here / ordinary_here);
    // Visits that differ by 2 % lie beyond 3 % in the median of five more often.
    EXPECT_LE(with_false, (noise.visit > 0.01 ? 0.15 : 0.05) * of) << noise.name;
    EXPECT_GE(found, 0.8 * slow) << noise.name;
  }
  // Before any of them is visited again; the few clusters of the short run scatter.
  EXPECT_LE(suspects, (Asked() == nullptr ? 0.015 : 0.01) * ordinary);
}

// --- Roofs ---

std::vector<std::string> NamesOf(const std::vector<RowGroup>& groups) {
  return VectorOf<std::string>(groups, &RowGroup::name);
}

TEST(GroupsOf, EachRoofIsOneByItselfAndThreeRoofsAreAGroup) {
  auto cluster = Gathered(LastNodeIsSlower());
  EXPECT_THAT(NamesOf(GroupsOf(cluster)), ElementsAre("all", "cpu.dram", "cpu.fp32.vector"));
  for (auto& node : cluster.nodes) node.roofs["cpu.launch"] = 1;
  const auto groups = GroupsOf(cluster);
  EXPECT_THAT(NamesOf(groups),
              ElementsAre("all", "ceilings", "cpu.dram", "cpu.fp32.vector", "cpu.launch"));
  EXPECT_THAT(groups[1].rows, ElementsAre(2, 3, 4));
}

ClusterNode Node(std::size_t noisy, double wall_over_clean = 1, std::size_t repetitions = 100) {
  ClusterNode node;
  node.facts.cpus_specified = 2;
  node.interference = {repetitions, noisy, wall_over_clean};
  return node;
}

std::vector<Finding> Findings(const std::vector<ClusterNode>& nodes) {
  std::vector<std::size_t> indices(nodes.size());
  std::iota(indices.begin(), indices.end(), 0);
  return InterferenceFindings(nodes, indices);
}

TEST(InterferenceFindings, AQuotaIsOneAlthoughTheSamplesLookWell) {
  std::vector<ClusterNode> nodes = {Node(5), Node(5), Node(5)};
  EXPECT_THAT(Findings(nodes), IsEmpty());
  nodes[1].facts.load.quota_cpus = 0.5;
  const auto findings = Findings(nodes);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].node, 1);
  EXPECT_EQ(findings[0].what, "quota");
  EXPECT_EQ(findings[0].verdict, NodeVerdict::kLimited);
  nodes[1].facts.load.quota_cpus = 2;  // as many as its CPUs
  EXPECT_THAT(Findings(nodes), IsEmpty());
  nodes[1].facts.load.periods = 1000;
  nodes[1].facts.load.throttled = 11;  // more than 1 %
  EXPECT_THAT(Findings(nodes), SizeIs(1));
}

TEST(InterferenceFindings, NeighboursAndStealDisturbANode) {
  std::vector<ClusterNode> nodes = {Node(10), Node(10), Node(55)};
  EXPECT_EQ(Findings(nodes).at(0).what, "neighbours");
  nodes[2] = Node(45);  // fewer than half
  EXPECT_THAT(Findings(nodes), IsEmpty());
  nodes[2] = Node(45, 1.3);
  EXPECT_EQ(Findings(nodes).at(0).ratio, 1.3);
  nodes[2] = Node(10);
  nodes[2].facts.load.steal_share = 0.2;
  EXPECT_THAT(Findings(nodes), IsEmpty());  // of an unknown time
  nodes[2].facts.load.wall_seconds = 60;
  EXPECT_EQ(Findings(nodes).at(0).what, "steal");
  nodes[0].facts.load.steal_share = nodes[1].facts.load.steal_share =
      0.18;  // hosts are busy everywhere
  EXPECT_THAT(Findings(nodes), IsEmpty());
  EXPECT_THAT(Findings({Node(90), Node(0)}), IsEmpty());  // too few to compare
}

// A quota of half a CPU stops two threads for 75 of each 100 ms: of repetitions of 30 ms those that
// begin within 45 ms before the stop's begin or during it are noisy, at least (75 - 2) / 100. The
// others' shares scatter. The control group's file is not seen, as in a container.
TEST(InterferenceFindings, AHiddenQuotaOfHalfACpuIsFoundInAtLeast95Percent) {
  std::mt19937 source(1);
  std::uniform_real_distribution<> usual(0, 0.35);
  int found = 0, wrong = 0;
  constexpr int kClusters = 400;
  constexpr std::size_t kRepetitions = 360;
  for (int cluster = 0; cluster < kClusters; ++cluster) {
    std::vector<ClusterNode> nodes;
    for (std::size_t i = 0; i < 8; ++i) {
      std::binomial_distribution<std::size_t> noisy(kRepetitions, i == 3 ? 0.85 : usual(source));
      nodes.push_back(Node(noisy(source), i == 3 ? 2 : 1.05, kRepetitions));
    }
    for (const auto& finding : Findings(nodes)) ++(finding.node == 3 ? found : wrong);
  }
  EXPECT_GE(found, 0.95 * kClusters);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace dlroof::cluster
