#include "baselines/cluster/barriers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/refusal.h"

namespace dlroof::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Barrier Met(const std::string& benchmark, double began_seconds, std::size_t with,
            std::vector<std::string> late = {}) {
  return {.benchmark = benchmark,
          .began_seconds = began_seconds,
          .waited_seconds = 2,
          .with = with,
          .late = std::move(late)};
}

TEST(ClusterBarriers, TheSpreadIsBetweenTheFirstAndTheLastNode) {
  // a: 100 to 100.3; b: 200 to 200.1; c: 300 to 300.5. The median is 0.3.
  const auto all =
      ClusterBarriersOf({{"n1", {Met("a", 100, 2), Met("b", 200.1, 2), Met("c", 300, 2)}},
                         {"n2", {Met("a", 100.3, 2), Met("b", 200, 2), Met("c", 300.25, 2)}},
                         {"n3", {Met("a", 100.1, 2), Met("b", 200, 2), Met("c", 300.5, 2)}}});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->nodes, 3);
  EXPECT_EQ(all->benchmarks, 3);
  EXPECT_NEAR(*all->median_spread_seconds, 0.3, 1e-9);
  EXPECT_NEAR(*all->most_spread_seconds, 0.5, 1e-9);
  EXPECT_EQ(all->median_waited_seconds, 6);
  EXPECT_TRUE(all->late.empty());
  EXPECT_THAT(BarrierNotes(*all),
              ElementsAre(HasSubstr("3 nodes started 3 benchmarks together, within 300 ms")));
}

// n1 and n2 stop waiting for n3 before b. n4 was measured a day later, by itself.
TEST(ClusterBarriers, TheSpreadLeavesOutLateNodesAndThoseOfAnotherDay) {
  const auto all = ClusterBarriersOf({{"n1", {Met("a", 100, 2), Met("b", 260, 1, {"n3"})}},
                                      {"n2", {Met("a", 100.1, 2), Met("b", 260.2, 1, {"n3"})}},
                                      {"n3", {Met("a", 103, 2), Met("b", 265, 2)}},
                                      {"n4", {Met("a", 90000, 0), Met("b", 90001, 0)}}});
  ASSERT_TRUE(all);
  EXPECT_NEAR(*all->most_spread_seconds, 0.2, 1e-9);
  ASSERT_EQ(all->late.size(), 1);
  EXPECT_EQ(all->late[0].name, "n3");
  EXPECT_EQ(all->late[0].benchmark, "b");
  EXPECT_EQ(all->late[0].by, 2);
  EXPECT_THAT(all->apart, ElementsAre(Pair("n4", 2)));
  EXPECT_THAT(BarrierNotes(*all),
              ElementsAre(HasSubstr("within"), HasSubstr("without: n3 (before b, 2 nodes waited)"),
                          HasSubstr("n4 (2)")));
}

// Two nodes of a later job: two barriers before one benchmark, a day apart.
TEST(ClusterBarriers, BarriersOfTwoDaysAreNotMixed) {
  const auto all = ClusterBarriersOf({{"n1", {Met("a", 100, 1)}},
                                      {"n2", {Met("a", 100.5, 1)}},
                                      {"n3", {Met("a", 90000, 1)}},
                                      {"n4", {Met("a", 90000.7, 1)}}});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->benchmarks, 1);
  EXPECT_NEAR(*all->most_spread_seconds, 0.7, 1e-9);
}

TEST(ClusterBarriers, AreAbsentWithoutBarriers) {
  EXPECT_FALSE(ClusterBarriersOf({{"n1", {}}, {"n2", {}}}));
  const auto alone = ClusterBarriersOf({{"n1", {Met("a", 100, 0)}}});
  ASSERT_TRUE(alone);
  EXPECT_FALSE(alone->median_spread_seconds);
  EXPECT_FALSE(ToJson(*alone).contains("median_spread_seconds"));
  EXPECT_THAT(BarrierNotes(*alone),
              ElementsAre(HasSubstr("no two began any together"), HasSubstr("n1 (1)")));
}

TEST(ClusterBarriers, AreReadAsTheyWereWritten) {
  const std::vector<Barrier> barriers = {Met("a", 100, 2, {"n3"})};
  const auto list = nlohmann::json::array({ToJson(barriers[0])});
  EXPECT_EQ(ToJson(BarriersFromJson(list, "x")[0]), list[0]);
  const auto all =
      ClusterBarriersOf({{"n1", barriers}, {"n2", {Met("a", 100.5, 1), Met("b", 110, 0)}}});
  EXPECT_EQ(ToJson(ClusterBarriersFromJson(ToJson(*all), "x")), ToJson(*all));
  EXPECT_THAT(fakes::RefusalOf([] { BarriersFromJson(3, "f: meetings"); }),
              HasSubstr("f: meetings: expected an array"));
  EXPECT_THAT(fakes::RefusalOf([] {
                BarriersFromJson(nlohmann::json::array({{{"benchmark", ""}}}), "f: meetings");
              }),
              HasSubstr("f: meetings[0]"));
}

}  // namespace
}  // namespace dlroof::cluster
