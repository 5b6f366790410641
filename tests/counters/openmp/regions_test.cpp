#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "counters/base/parallel_time.h"
#include "counters/cpu/clocks.h"
#include "counters/openmp/region_clock.h"

// Regions that begin at libgomp's entry points, as oneDNN's and this program's do.
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_parallel_start(void (*body)(void*), void* data, unsigned threads);
void GOMP_parallel_end();
void GOMP_barrier();
}

namespace dlroof::openmp {
namespace {

void Spin(double seconds) {
  for (const double begin = cpu::WallSeconds(); cpu::WallSeconds() - begin < seconds;) {
  }
}

// The first thread to come works `longer`, the others 1 ms.
struct Work {
  double longer;
  bool barrier = false;
  std::atomic<int> came{0};
};
void WorkOne(void* data) {
  auto& work = *static_cast<Work*>(data);
  Spin(work.came.fetch_add(1) == 0 ? work.longer : 1e-3);
  if (work.barrier) GOMP_barrier();
}

void Region(double longer, bool barrier = false) {
  Work work{longer, barrier};
  GOMP_parallel(WorkOne, &work, 2, 0);
}

// As compilers up to GCC 4.8, and so oneDNN's, write a region.
void OldRegion(double longer) {
  Work work{longer};
  GOMP_parallel_start(WorkOne, &work, 2);
  WorkOne(&work);
  GOMP_parallel_end();
}

const RegionSource& TheSource() { return TheRegionSource().value(); }

template <class Call>
RegionsSeen Watch(const Call& call) {
  Region(1e-5);  // the runtime begins
  EXPECT_EQ(TheSource().unavailable(), std::nullopt);
  TheSource().begin();
  call();
  return TheSource().end().value();
}

TEST(EntryPointRegions, HowManyAndHowLongOfOldCompilersToo) {
  for (const bool old : {false, true}) {
    SCOPED_TRACE(old);
    const auto [sums, team] = Watch([&] {
      for (int i = 0; i < 4; ++i) old ? OldRegion(3e-3) : Region(3e-3);
    });
    EXPECT_EQ(sums.regions, 4);
    EXPECT_EQ(team, 2);
    EXPECT_GE(sums.longest_seconds, 4 * 3e-3);
    EXPECT_GE(sums.busy_seconds, 4 * 4e-3);
    EXPECT_GE(sums.seconds, sums.longest_seconds);
  }
}

TEST(EntryPointRegions, WaitsAtBarriersAreNotBusy) {
  // Both threads are in the region for 20 ms, and one of them waits for 19 ms. Another program may
  // keep it from working or from waiting: one clean try of 20 is enough.
  for (int i = 0; i < 20; ++i) {
    const auto sums = Watch([] { Region(20e-3, true); }).sums;
    EXPECT_GE(sums.longest_seconds, 20e-3);
    EXPECT_GE(sums.busy_seconds, 20e-3);
    if (sums.busy_seconds < 2 * sums.longest_seconds - 10e-3) return;
  }
  FAIL() << "no thread waited";
}

TEST(EntryPointRegions, OfATeamOfOneCountInnerOnesArePartOfTheOuterThoseOfOtherThreadsDoNotCount) {
  const auto inner = Watch([] { GOMP_parallel([](void*) { Region(1e-3); }, nullptr, 2, 0); }).sums;
  EXPECT_EQ(inner.regions, 1);
  EXPECT_GE(inner.busy_seconds, 2 * 1e-3);
  EXPECT_EQ(Watch([] { std::thread([] { Region(1e-4), OldRegion(1e-4); }).join(); }),
            RegionsSeen());
  EXPECT_EQ(Watch([] {}), RegionsSeen());
  const auto [alone, team] = Watch([] {
    Work work{2e-3};
    GOMP_parallel(WorkOne, &work, 1, 0);
  });
  EXPECT_EQ(std::pair(alone.regions, team), std::pair(1.0, 1));
  EXPECT_GE(alone.busy_seconds, 2e-3);
  EXPECT_EQ(alone.busy_seconds, alone.longest_seconds);
}

TEST(EntryPointRegions, AreNotKnownBesideARuntimeOfClangs) {
  const auto beside = [] {
    if (dlopen("libomp.so.5", RTLD_NOW | RTLD_LOCAL) == nullptr) std::_Exit(0);  // not installed
    const auto reason = TheSource().unavailable().value_or(Reason()).text;
    std::_Exit(reason == "libomp.so.5 is loaded, whose regions cannot be seen" ? 0 : 1);
  };
  EXPECT_EXIT(beside(), testing::ExitedWithCode(0), "");
}

// Sums from events with made-up times; a number of this file is the address of a thread.

const char kThread = 0;
const ThreadMark kWatching = &kThread;

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
  EXPECT_FALSE(clock->Counts(kWatching)) << "until the next start";
}

TEST_F(RegionClockTest, WaitsAtBarriersAreInTheLongestTimeAndNotInTheBusyTime) {
  clock->Forks(0);
  auto& first = *clock->Thread(0);
  auto& second = *clock->Thread(1);
  first.Enters(0), second.Enters(0);
  first.Waits(3), second.Waits(0);
  first.Leaves(7), second.Leaves(6);
  clock->Joins(2, 8);
  EXPECT_EQ(clock->Stop(), (RegionsSeen{{1, 8, 7, 4 + 6}, 2}));
}

TEST_F(RegionClockTest, AThreadThatLeftForgetsItsWaitsInTheNextRegion) {
  clock->Forks(0);
  clock->Thread(0)->Enters(0);
  clock->Thread(0)->Waits(2);
  clock->Thread(0)->Leaves(4);
  clock->Joins(1, 5);  // 4 s, 2 s of them waiting
  clock->Forks(6);
  Runs(0, 6, 9);
  clock->Joins(1, 10);
  EXPECT_EQ(clock->Stop()->sums, (RegionSums{2, 9, 7, 5}));
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
