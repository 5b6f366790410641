
#include <gtest/gtest.h>

#include <thread>

#include "counters/cpu/clocks.h"

namespace dlroof::cpu {
namespace {

// Two threads share a core and get 2 additions per cycle each; a single one gets all 4.
TEST(TeamIssueRate, IsTheLowestOfLooksBesideEachOther) {
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}}), 4);
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}, {0.05, 1.05, 2}}), 2);
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}, {0.5, 1.5, 4}}), std::nullopt);  // half the time alone
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}, {0, 3, 2}}), std::nullopt);      // it waited for its CPU
  EXPECT_EQ(TeamIssueRate({{0, 1, 4}, {}}), std::nullopt);  // the second thread never measured
  EXPECT_EQ(TeamIssueRate({}), std::nullopt);
}

TEST(TeamLook, DoesNotWaitForThreadsThatDoNotCome) {
  TeamLook look(2);
  look.Measure(0);
  look.Measure(7);
  EXPECT_EQ(look.State(), TeamState());
}

TEST(TeamLook, SeesHowFarTheThreadsAreFromEachOther) {
  constexpr int kThreads = 2;
  for (int tries = 0; tries < 200;
       ++tries) {  // on a busy machine the threads do not always overlap
    TeamLook look(kThreads);
    {
      std::vector<std::jthread> team;
      for (int i = 0; i < kThreads; ++i) team.emplace_back([&look, i] { look.Measure(i); });
    }
    const auto state = look.State();
    if (!state.round_trip) continue;
    EXPECT_GT(*state.round_trip, 1e-9);
    return;
  }
  GTEST_SKIP() << "two threads never ran beside each other";
}

TEST(SharesOfBest, AreOverTheBestThatWasMetMoreThanOnce) {
  SharesOfBest shares;
  const auto core = [&](double rate) { return shares.OfLower({rate, {}}, {}).core; };
  EXPECT_EQ(core(4), 1);
  EXPECT_EQ(core(4), 1);
  EXPECT_EQ(core(4), 1);
  EXPECT_EQ(core(2), 0.5);
  EXPECT_EQ(core(8), 1);  // an outlier that occurred once
  EXPECT_EQ(core(2), 0.5);
}

TEST(SharesOfBest, OfTwoLooksAreTheLower) {
  SharesOfBest shares({4, 1e-7});
  EXPECT_EQ(shares.OfLower({4, 2e-7}, {3, 1e-7}), (TeamShares{0.75, 0.5}));
  EXPECT_EQ(shares.OfLower({1, {}}, {}), (TeamShares{0.25, {}}));
  EXPECT_EQ(shares.OfLower({}, {}), TeamShares());
}

TEST(SharesOfBest, KnowTheBestOfAnEarlierMeasurementAndLearnABetterOne) {
  SharesOfBest shares({4, {}});
  EXPECT_EQ(shares.OfLower({3.8, {}}, {}).core, 0.95);
  EXPECT_EQ(shares.OfLower({3, {}}, {}).core, 0.75);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(shares.OfLower({5, {}}, {}).core, 1);
  EXPECT_EQ(shares.OfLower({4, {}}, {}).core, 0.8);
}

// 6.07 was stored for a core that issues 3.94: each repetition would be noisy.
TEST(SharesOfBest, DoNotUseARateThatTheCoreNeverReaches) {
  SharesOfBest shares({6.07, {}});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(shares.OfLower({3.94, {}}, {3.94, {}}).core, 1);
  EXPECT_EQ(shares.OfLower({1.97, {}}, {}).core, 0.5);  // a neighbour
}

// Threads that share a core have the shortest round trip, which does not apply to separate cores.
TEST(SharesOfBest, TakeTheNearestThreadsAmongThoseOnWholeCores) {
  SharesOfBest shares;
  for (int i = 0; i < 5; ++i) shares.OfLower({2, 0.4e-7}, {});
  for (int i = 0; i < 5; ++i) shares.OfLower({4, 1e-7}, {});
  EXPECT_EQ(shares.Best(), (TeamState{4, 1e-7}));
  EXPECT_EQ(shares.OfLower({4, 4e-7}, {}), (TeamShares{1, 0.25}));
  EXPECT_EQ(shares.OfLower({2, 0.4e-7}, {}), (TeamShares{0.5, 1}));
}

TEST(Better, HasMoreOfTheCoresOrThenNearerThreads) {
  EXPECT_EQ(Better({4, 5e-7}, {2, 1e-7}), (TeamState{4, 5e-7}));
  EXPECT_EQ(Better({2, 1e-7}, {4, 5e-7}), (TeamState{4, 5e-7}));
  EXPECT_EQ(Better({4, 5e-7}, {3.9, 1e-7}), (TeamState{4, 1e-7}));
  EXPECT_EQ(Better({}, {4, 1e-7}), (TeamState{4, 1e-7}));
  EXPECT_EQ(Better({{}, 1e-7}, {}), (TeamState{{}, 1e-7}));
}

}  // namespace
}  // namespace dlroof::cpu
