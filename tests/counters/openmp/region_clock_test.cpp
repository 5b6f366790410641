// Sums from events with made-up times; a number of this file is the address of a thread.
#include "counters/openmp/region_clock.h"

#include <gtest/gtest.h>

#include <memory>

namespace dlroof::openmp {
namespace {

const char kThreads[2] = {};
const ThreadMark kWatching = &kThreads[0], kOther = &kThreads[1];

struct RegionClockTest : testing::Test {
  void SetUp() override { clock->Start(kWatching); }
  // A thread is in the region's function from one time to another.
  void Runs(int thread, double from, double to) const {
    clock->Thread(thread)->Enters(from);
    clock->Thread(thread)->Leaves(to);
  }

  std::unique_ptr<RegionClock> clock = std::make_unique<RegionClock>();
};

TEST_F(RegionClockTest, SumsForksToJoinsAndTheThreadsTimes) {
  // 10 to 20: 6 s and 8 s. 30 to 34: 3 s and 1 s.
  clock->Forks(10);
  Runs(0, 11, 17), Runs(1, 11, 19);
  clock->Joins(2, 20);
  clock->Forks(30);
  Runs(0, 30, 33), Runs(1, 32, 33);
  clock->Joins(2, 34);
  EXPECT_EQ(clock->Stop(), (RegionsSeen{{2, 10 + 4, 8 + 3, 6 + 8 + 3 + 1}, 2}));
}

TEST_F(RegionClockTest, WaitsAtBarriersAreInTheLongestTimeAndNotInTheBusyTime) {
  clock->Forks(0);
  auto& first = *clock->Thread(0);
  auto& second = *clock->Thread(1);
  first.Enters(0), second.Enters(0);
  first.BeginsBarrier(2), second.BeginsBarrier(5);  // the first waits 3 s
  first.EndsBarrier(5), second.EndsBarrier(5);
  first.Leaves(7), second.Leaves(6);
  clock->Joins(2, 8);
  EXPECT_EQ(clock->Stop(), (RegionsSeen{{1, 8, 7, 4 + 6}, 2}));
}

TEST_F(RegionClockTest, TheBarrierAtTheEndIsNotInAThreadsTime) {
  clock->Forks(0);
  for (const int i : {0, 1}) clock->Thread(i)->Enters(1);
  clock->Thread(0)->BeginsBarrier(3);
  clock->Thread(1)->BeginsBarrier(6);
  clock->Thread(0)->Leaves(7);  // too late: the barrier began before
  clock->Joins(2, 8);
  EXPECT_EQ(clock->Stop(), (RegionsSeen{{1, 8, 5, 2 + 5}, 2}));
}

TEST_F(RegionClockTest, AnEndWithoutABeginIsNoWait) {
  clock->Forks(0);
  clock->Thread(0)->Enters(0);
  clock->Thread(0)->EndsBarrier(4);
  clock->Thread(0)->Leaves(5);
  clock->Joins(1, 6);
  EXPECT_EQ(clock->Stop()->sums, (RegionSums{1, 6, 5, 5}));
}

TEST_F(RegionClockTest, ATeamOfOneIsARegion) {
  clock->Forks(0);
  Runs(0, 1, 3);
  clock->Joins(1, 4);
  EXPECT_EQ(clock->Stop(), (RegionsSeen{{1, 4, 2, 2}, 1}));
}

TEST_F(RegionClockTest, InnerRegionsArePartOfTheOuterOne) {
  EXPECT_TRUE(clock->Counts(kWatching));
  clock->Forks(0);
  EXPECT_FALSE(clock->Counts(kWatching));
  EXPECT_TRUE(clock->InsideOf(kWatching));
  Runs(0, 0, 1);
  clock->Joins(1, 1);
  EXPECT_TRUE(clock->Counts(kWatching));
  EXPECT_FALSE(clock->InsideOf(kWatching));
}

TEST_F(RegionClockTest, RegionsOfOtherThreadsDoNotCount) {
  EXPECT_FALSE(clock->Counts(kOther));
  clock->Forks(0);
  EXPECT_FALSE(clock->InsideOf(kOther));
}

TEST_F(RegionClockTest, UnwatchedNothingCounts) {
  EXPECT_EQ(clock->Stop(), RegionsSeen());
  EXPECT_FALSE(clock->Counts(kWatching));
  EXPECT_FALSE(clock->Counts(ThisThread()));
}

TEST_F(RegionClockTest, AThreadThatLeftForgetsItsWaitsInTheNextRegion) {
  clock->Forks(0);
  clock->Thread(0)->Enters(0);
  clock->Thread(0)->BeginsBarrier(1);
  clock->Thread(0)->EndsBarrier(3);
  clock->Thread(0)->BeginsBarrier(4);
  clock->Joins(1, 5);  // 4 s, 2 s of them waiting
  clock->Forks(6);
  Runs(0, 6, 9);
  clock->Joins(1, 10);
  EXPECT_EQ(clock->Stop()->sums, (RegionSums{2, 9, 7, 5}));
}

TEST_F(RegionClockTest, AStartForgets) {
  clock->Forks(0);
  Runs(0, 0, 1);
  clock->Joins(2, 1);
  clock->Start(kWatching);
  EXPECT_EQ(clock->Stop(), RegionsSeen());
}

TEST_F(RegionClockTest, MoreThreadsThanHavePlacesAreNotKnown) {
  constexpr int kMax = RegionClock::kMaxThreads;
  EXPECT_NE(clock->Thread(kMax - 1), nullptr);
  EXPECT_EQ(clock->Thread(kMax), nullptr);
  EXPECT_EQ(clock->Thread(-1), nullptr);
  clock->Forks(0);
  for (int i = 0; i < kMax; ++i) Runs(i, 0, 1);
  clock->Joins(kMax, 1);
  EXPECT_EQ(clock->Stop(), (RegionsSeen{{1, 1, 1, kMax}, kMax}));
  clock->Start(kWatching);
  clock->Forks(0);
  clock->Joins(kMax + 1, 1);
  EXPECT_EQ(clock->Stop(), std::nullopt);
  clock->Start(kWatching);
  EXPECT_EQ(clock->Stop(), RegionsSeen());
}

}  // namespace
}  // namespace dlroof::openmp
