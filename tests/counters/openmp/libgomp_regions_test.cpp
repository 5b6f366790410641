// Regions that begin at libgomp's entry points, as oneDNN's and this program's do, are seen
// whichever runtime has them: ctest runs these tests under libgomp, and under libomp where it is.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "counters/cpu/clocks.h"
#include "counters/parallel_time.h"

extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_parallel_start(void (*body)(void*), void* data, unsigned threads);
void GOMP_parallel_end();
void GOMP_barrier();
}

namespace dlroof {
namespace {

[[maybe_unused]] const bool expected_by_entry_point_tests = ExpectRegions();

void Spin(double seconds) {
  for (const double begin = WallSeconds(); WallSeconds() - begin < seconds;) {
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

void Region(Work& work) { GOMP_parallel(WorkOne, &work, 2, 0); }

// As compilers up to GCC 4.8, and so oneDNN's, write a region.
void OldRegion(Work& work) {
  GOMP_parallel_start(WorkOne, &work, 2);
  WorkOne(&work);
  GOMP_parallel_end();
}

template <class Call>
RegionWatch::Watched Watch(const Call& call) {
  Work first{1e-5};
  Region(first);  // the runtime begins
  RegionWatch watch(AllRegionSources());
  watch.Begin();
  call();
  const auto watched = watch.End();
  EXPECT_TRUE(watched) << WhyNoRegions(AllRegionSources());
  return watched.value_or(RegionWatch::Watched());
}

void ExpectFourOfTwo(const RegionsSeen& seen) {
  EXPECT_EQ(seen.sums.regions, 4);
  EXPECT_EQ(seen.widest_team, 2);
  EXPECT_GE(seen.sums.longest_seconds, 4 * 3e-3);
  EXPECT_GE(seen.sums.busy_seconds, 4 * 4e-3);
  EXPECT_GE(seen.sums.seconds, seen.sums.longest_seconds);
}

TEST(EntryPointRegions, HowManyAndHowLong) {
  const auto watched = Watch([] {
    for (int i = 0; i < 4; ++i) {
      Work work{3e-3};
      Region(work);
    }
  });
  ExpectFourOfTwo(watched.seen);
}

TEST(EntryPointRegions, ThoseOfOldCompilers) {
  const auto watched = Watch([] {
    for (int i = 0; i < 4; ++i) {
      Work work{3e-3};
      OldRegion(work);
    }
  });
  ExpectFourOfTwo(watched.seen);
}

TEST(EntryPointRegions, TheSourceNamesTheRuntime) {
  const auto watched = Watch([] {});
  const char* preloaded = std::getenv("LD_PRELOAD");
  if (preloaded != nullptr && std::string_view(preloaded).find("libomp") != std::string_view::npos)
    EXPECT_TRUE(watched.source.starts_with("OMPT of libomp")) << watched.source;
  else
    EXPECT_EQ(watched.source, "libgomp's entry points");
}

TEST(EntryPointRegions, WaitsAtBarriersAreNotBusy) {
  // Both are in the region for 20 ms, of which one waits 19. Another program may keep it from
  // working or from waiting: one clean try of 20 is enough.
  for (int i = 0; i < 20; ++i) {
    const auto sums = Watch([] {
                        Work work{20e-3, true};
                        Region(work);
                      }).seen.sums;
    EXPECT_GE(sums.longest_seconds, 20e-3);
    EXPECT_GE(sums.busy_seconds, 20e-3);
    if (sums.busy_seconds < 2 * sums.longest_seconds - 10e-3) return;
  }
  FAIL() << "no thread waited";
}

TEST(EntryPointRegions, InnerOnesArePartOfTheOuterOne) {
  const auto watched = Watch([] {
    GOMP_parallel(
        [](void*) {
          Work work{1e-3};
          Region(work);
        },
        nullptr, 2, 0);
  });
  EXPECT_EQ(watched.seen.sums.regions, 1);
  EXPECT_GE(watched.seen.sums.busy_seconds, 2 * 1e-3);
}

TEST(EntryPointRegions, ThoseOfAnotherThreadDoNotCount) {
  const auto watched = Watch([] {
    std::thread([] {
      Work work{1e-4};
      Region(work);
      OldRegion(work);
    }).join();
  });
  EXPECT_EQ(watched.seen, RegionsSeen());
}

TEST(EntryPointRegions, ATeamOfOne) {
  const auto watched = Watch([] {
    Work work{2e-3};
    GOMP_parallel(WorkOne, &work, 1, 0);
  });
  EXPECT_EQ(watched.seen.sums.regions, 1);
  EXPECT_EQ(watched.seen.widest_team, 1);
  EXPECT_GE(watched.seen.sums.busy_seconds, 2e-3);
  EXPECT_EQ(watched.seen.sums.busy_seconds, watched.seen.sums.longest_seconds);
}

TEST(EntryPointRegions, NothingThatIsNotWatched) {
  const auto watched = Watch([] {});
  EXPECT_EQ(watched.seen, RegionsSeen());
}

}  // namespace
}  // namespace dlroof
