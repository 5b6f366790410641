#include <algorithm>

#include "counters/clocks.h"
#include "counters/core_clock.h"

namespace dlroof {
namespace {

constexpr int kChains = 4, kRounds = 1600, kPerRound = 16;
constexpr double kCyclesEach = 3;

// Not a chain of additions: new cores fold those of a constant and run several in a cycle. 32 bits
// wide, for which small cores need 3 cycles too.
[[gnu::noinline]] unsigned MultiplyInAChain(unsigned value) {
  for (int round = 0; round < kRounds; ++round)
    asm volatile(
        "imull %0, %0\n\timull %0, %0\n\timull %0, %0\n\timull %0, %0\n\t"
        "imull %0, %0\n\timull %0, %0\n\timull %0, %0\n\timull %0, %0\n\t"
        "imull %0, %0\n\timull %0, %0\n\timull %0, %0\n\timull %0, %0\n\t"
        "imull %0, %0\n\timull %0, %0\n\timull %0, %0\n\timull %0, %0"
        : "+r"(value));
  return value;
}

}  // namespace

std::optional<double> MeasureCoreClock() {
  double best = 1;  // [s]
  unsigned value = 3;
  for (int chain = 0; chain < kChains; ++chain) {
    const double begin = WallSeconds();
    value = MultiplyInAChain(value);
    best = std::min(best, WallSeconds() - begin);
  }
  return kCyclesEach * kRounds * kPerRound / best;
}

}  // namespace dlroof
