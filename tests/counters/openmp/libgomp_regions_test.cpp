// The source sees the regions of oneDNN, which calls libgomp's old entry points, and those of this
// program, which calls the new one.
#include <gtest/gtest.h>

#include <atomic>

#include "counters/cpu/clocks.h"
#include "counters/parallel_time.h"

extern "C" void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);

namespace dlroof {
namespace {

void Spin(double seconds) {
  for (const double begin = WallSeconds(); WallSeconds() - begin < seconds;) {
  }
}

// The first thread to come works `longer`, the others 1 ms.
struct Work {
  double longer;
  std::atomic<int> came{0};
};
void WorkOne(void* data) {
  auto& work = *static_cast<Work*>(data);
  Spin(work.came.fetch_add(1) == 0 ? work.longer : 1e-3);
}

struct Seen {
  RegionSums sums;
  int widest = 1;
};

Seen Watch(double longer, int regions) {
  const auto* source = TheRegionSource();
  Seen seen;
  source->begin();
  for (int i = 0; i < regions; ++i) {
    Work work{longer};
    GOMP_parallel(WorkOne, &work, 2, 0);
  }
  seen.sums = source->end(seen.widest);
  return seen;
}

TEST(LibgompRegions, SeesHowManyAndHowLong) {
  ASSERT_NE(TheRegionSource(), nullptr);
  const auto seen = Watch(3e-3, 4);
  EXPECT_EQ(seen.sums.regions, 4);
  EXPECT_EQ(seen.widest, 2);
  EXPECT_GE(seen.sums.longest_seconds, 4 * 3e-3);
  EXPECT_GE(seen.sums.busy_seconds, 4 * 4e-3);
  EXPECT_GE(seen.sums.seconds, seen.sums.longest_seconds);
}

TEST(LibgompRegions, SeesNothingThatItDoesNotWatch) {
  ASSERT_NE(TheRegionSource(), nullptr);
  Work work{1e-4};
  GOMP_parallel(WorkOne, &work, 2, 0);
  int widest = 0;
  TheRegionSource()->begin();
  EXPECT_EQ(TheRegionSource()->end(widest), RegionSums());
  EXPECT_EQ(widest, 1);
}

}  // namespace
}  // namespace dlroof
