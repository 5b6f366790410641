#include "baselines/cluster/outliers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/baselines/cluster/simulated_cluster.h"

namespace dlroof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

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

// 1 of 8 outcomes has 3 heads, 3 have 2: 4 of 8.
TEST(SignTest, CountsTheOutcomesOfAFairCoin) {
  EXPECT_DOUBLE_EQ(SignTest(3, 3), 0.125);
  EXPECT_DOUBLE_EQ(SignTest(2, 3), 0.5);
  EXPECT_DOUBLE_EQ(SignTest(0, 3), 1);
  EXPECT_DOUBLE_EQ(SignTest(8, 8), 1.0 / 256);
}

// log2(1 / 0.05) + 1 is 5.3, below 8; log2(109 / 0.05) + 1 is 12.09.
TEST(VisitsNeeded, GrowWithTheLogarithmOfTheSuspects) {
  EXPECT_EQ(VisitsNeeded(0, {}), 0);
  EXPECT_EQ(VisitsNeeded(1, {}), 8);
  EXPECT_EQ(VisitsNeeded(109, {}), 13);
}

TEST(EffectsOf, IsTheMedianOverBenchmarksBesideTheReference) {
  auto times = LastIsSlower(1.1);
  times[0][4] = 5;  // one wild benchmark does not count
  times[1][0].reset();
  const auto effects = EffectsOf(times, kAll, {0, 1, 2, 3});
  EXPECT_NEAR(*effects[4], std::log(1.1), 1e-12);
  EXPECT_NEAR(*effects[0], 0, 1e-12);
  times[0][0].reset();
  times[2][0].reset();
  EXPECT_FALSE(EffectsOf(times, kAll, {1, 2, 3})[0]);
}

TEST(SuspectsOf, ExceedTheEffectInOneVisit) {
  EXPECT_THAT(SuspectsOf(LastIsSlower(1.02), {kAll}, kFive, {}), IsEmpty());
  const auto suspects = SuspectsOf(LastIsSlower(1.1), {kAll}, kFive, {});
  ASSERT_EQ(suspects.size(), 1);
  EXPECT_EQ(suspects[0].node, 4);
  EXPECT_THAT(SuspectsOf(LastIsSlower(1.1), {kAll}, {1, 2, 3, 4}, {}), IsEmpty());
}

// 1.06 exceeds the effect of a group, and not that of one row without a median.
TEST(SuspectsOf, OneRowByItselfHasAWiderEffect) {
  const RowGroup lone{"cpu.dram", {1}, true};
  EXPECT_THAT(SuspectsOf(LastIsSlower(1.06), {kAll}, kFive, {}), SizeIs(1));
  EXPECT_THAT(SuspectsOf(LastIsSlower(1.06), {lone}, kFive, {}), IsEmpty());
  const std::vector<VisitTimes> visits(8, LastIsSlower(1.06));
  const auto finding = JudgeNodes({{4, 0, 0.2}}, {lone}, visits, {0, 1, 2, 3}, {}).at(0);
  EXPECT_EQ(finding.verdict, NodeVerdict::kNotProved);
  EXPECT_THAT(SuspectsOf(LastIsSlower(1.2), {lone}, kFive, {}), SizeIs(1));
}

TEST(ControlsFor, AreTheOrdinaryNodes) {
  auto times = LastIsSlower(1.1);
  for (auto& row : times) *row[1] *= 1.02;
  const auto suspects = SuspectsOf(times, {kAll}, kFive, {});
  EXPECT_THAT(ControlsFor(times, kAll, kFive, suspects, {.controls = 3}), ElementsAre(0, 2, 3));
}

TEST(JudgeNodes, ASlowNodeIsProvedByEightVisits) {
  const std::vector<Suspect> suspects = {{4, 0, 0.1}};
  const std::vector<VisitTimes> visits(8, LastIsSlower(1.1));
  const auto finding = JudgeNodes(suspects, {kAll}, visits, {0, 1, 2, 3}, {}).at(0);
  EXPECT_EQ(finding.verdict, NodeVerdict::kSlow);
  EXPECT_NEAR(finding.ratio, 1.1, 1e-12);
  EXPECT_DOUBLE_EQ(*finding.p, 1.0 / 256);
  EXPECT_EQ(finding.visits, 8);
  const auto ordinary = JudgeNodes(suspects, {kAll}, std::vector<VisitTimes>(8, LastIsSlower(1.02)),
                                   {0, 1, 2, 3}, {});
  EXPECT_EQ(ordinary.at(0).verdict, NodeVerdict::kNotProved);
}

TEST(JudgeNodes, WithoutVisitsASuspectStaysOne) {
  const auto finding = JudgeNodes({{4, 0, std::log(1.1)}}, {kAll}, {}, {}, {}).at(0);
  EXPECT_EQ(finding.verdict, NodeVerdict::kSuspect);
  EXPECT_FALSE(finding.p);
  EXPECT_NEAR(finding.ratio, 1.1, 1e-12);
}

// Two tests: 4 of 4 visits (1/16) counts twice, then 3 of 4 (5/16), not below the first.
TEST(JudgeNodes, AllTestsShareOneError) {
  std::vector<VisitTimes> visits(4, LastIsSlower(1.1));
  for (auto& visit : visits)
    for (auto& row : visit) *row[3] *= 1.1;
  for (auto& row : visits[0]) *row[3] = *row[0];
  const auto findings = JudgeNodes({{4, 0, 0.1}, {3, 0, 0.1}}, {kAll}, visits, {0, 1, 2}, {});
  EXPECT_DOUBLE_EQ(*findings[0].p, 2.0 / 16);
  EXPECT_DOUBLE_EQ(*findings[1].p, 5.0 / 16);
}

// --- Simulated clusters: seeded, and more of them with DLROOF_SIMULATED_CLUSTERS=760 ---

TEST(SimulatedClusters, NoOrdinaryNodeIsCalledSlowAndSlowOnesAreFound) {
  const int clusters = SimulatedClusters();
  for (const auto& noise : SimulatedNoises()) {
    int with_false = 0, fixed = 0, of = 0, found = 0, slow = 0;
    for (const auto& [nodes, share] :
         {std::pair(8, 400.0 / 760), {64, 300.0 / 760}, {1024, 60.0 / 760}})
      for (int i = 0; i < std::max(1, static_cast<int>(std::lround(share * clusters))); ++i, ++of) {
        const auto seen = VisitSimulated({.nodes = nodes, .noise = noise, .seed = 1000U * of});
        with_false += seen.false_slow > 0;
        fixed += seen.fixed_rule;
      }
    for (int i = 0; i < std::max(15, clusters / 5); ++i) {
      found +=
          VisitSimulated({.nodes = 64, .noise = noise, .seed = 77U + i, .slow = 2, .shift = 0.08})
              .true_slow;
      slow += 2;
    }
    PrintSimulated(noise, with_false, fixed, of, found, slow);
    EXPECT_LE(with_false, 0.05 * of) << noise.name;
    EXPECT_GE(found, 0.8 * slow) << noise.name;
  }
}

}  // namespace
}  // namespace dlroof
