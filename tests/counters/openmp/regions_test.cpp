// Regions that begin at libgomp's entry points, as oneDNN's and this program's do.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

#include "counters/base/parallel_time.h"
#include "counters/cpu/clocks.h"
#include "counters/openmp/region_clock.h"

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

const RegionSource& TheSource() {
  return *std::ranges::find(AllRegionSources(), "libgomp's entry points", &RegionSource::name);
}

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

TEST(EntryPointRegions, InnerOnesArePartOfTheOuterOne) {
  const auto seen = Watch([] { GOMP_parallel([](void*) { Region(1e-3); }, nullptr, 2, 0); });
  EXPECT_EQ(seen.sums.regions, 1);
  EXPECT_GE(seen.sums.busy_seconds, 2 * 1e-3);
}

TEST(EntryPointRegions, ThoseOfAnotherThreadDoNotCount) {
  const auto seen = Watch([] { std::thread([] { Region(1e-4), OldRegion(1e-4); }).join(); });
  EXPECT_EQ(seen, RegionsSeen());
}

TEST(EntryPointRegions, ATeamOfOne) {
  const auto seen = Watch([] {
    Work work{2e-3};
    GOMP_parallel(WorkOne, &work, 1, 0);
  });
  EXPECT_EQ(seen.sums.regions, 1);
  EXPECT_EQ(seen.widest_team, 1);
  EXPECT_GE(seen.sums.busy_seconds, 2e-3);
  EXPECT_EQ(seen.sums.busy_seconds, seen.sums.longest_seconds);
}

TEST(EntryPointRegions, NothingThatIsNotWatched) {
  const auto seen = Watch([] {});
  EXPECT_EQ(seen, RegionsSeen());
}

TEST(EntryPointRegions, AreNotKnownBesideARuntimeOfClangs) {
  const auto beside = [] {
    if (dlopen("libomp.so.5", RTLD_NOW | RTLD_LOCAL) == nullptr) std::_Exit(0);  // not installed
    const auto reason = TheSource().unavailable().value_or(Reason()).text;
    std::_Exit(reason == "libomp.so.5 is loaded, whose regions cannot be seen" ? 0 : 1);
  };
  EXPECT_EXIT(beside(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace dlroof::openmp
