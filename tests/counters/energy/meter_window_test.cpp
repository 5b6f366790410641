#include "counters/energy/meter_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlroof {
namespace {

using testing::HasSubstr;

// Clocks that calls alone move: a call takes 0.25 s.
struct MadeUpClocks {
  double seconds = 0, set = 0;
  int calls = 0, stop_after = 1000;

  WindowFound Repeat(double least_seconds) {
    return RepeatForMeter(
        [this] {
          seconds += 0.25;
          ++calls;
        },
        {least_seconds, [this] { return seconds; }, [this] { return 1.8e9 + seconds + set; },
         [this] { return calls >= stop_after; }});
  }
};

TEST(RepeatForMeter, CallsForAtLeastSoLongAndKeepsBeginEndAndCalls) {
  MadeUpClocks clocks;
  clocks.seconds = 3;
  const auto found = clocks.Repeat(10.1);
  EXPECT_EQ(found.why_not, "");
  // 41 calls of 0.25 s are the first that take 10.1 s.
  EXPECT_EQ(found.window, (MeteredWindow{1.8e9 + 3, 1.8e9 + 13.25, 41}));
  EXPECT_EQ(clocks.calls, 41);
}

TEST(RepeatForMeter, ALongCallIsMadeOnce) {
  MadeUpClocks clocks;
  EXPECT_EQ(clocks.Repeat(0.1).window->calls, 1);
}

TEST(RepeatForMeter, AnInterruptLeavesNoWindow) {
  MadeUpClocks clocks{.stop_after = 3};
  const auto found = clocks.Repeat(10);
  EXPECT_FALSE(found.window);
  EXPECT_EQ(found.why_not, "interrupted");
  EXPECT_EQ(clocks.calls, 3);
}

TEST(RepeatForMeter, AClockThatWasSetMeanwhileLeavesNoWindow) {
  MadeUpClocks clocks;
  const auto found = RepeatForMeter(
      [&] {
        clocks.seconds += 1;
        if (clocks.seconds == 5) clocks.set = -3600;
      },
      {10,
       [&] { return clocks.seconds; },
       [&] { return 1.8e9 + clocks.seconds + clocks.set; },
       {}});
  EXPECT_FALSE(found.window);
  EXPECT_THAT(found.why_not, HasSubstr("clock was set by -3600.0 s"));
}

TEST(UtcSeconds, AreSince1970) {
  EXPECT_GT(UtcSeconds(), 1.7e9);
  EXPECT_LT(UtcSeconds(), 4.1e9);
}

}  // namespace
}  // namespace dlroof
