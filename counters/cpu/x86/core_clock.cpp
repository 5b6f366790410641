#include "counters/cpu/core_clock.h"

#include <algorithm>

#include "counters/cpu/clocks.h"
#include "counters/cpu/multiply_chain.h"

namespace dlroof {
namespace {

constexpr int kChains = 4, kRounds = 1600;

}  // namespace

std::optional<double> MeasureCoreClock() {
  double best = 1;  // [s]
  unsigned value = 3;
  for (int chain = 0; chain < kChains; ++chain) {
    const double begin = WallSeconds();
    value = MultiplyInAChain(value, kRounds);
    best = std::min(best, WallSeconds() - begin);
  }
  return kCyclesPerMultiply * kRounds * kMultipliesPerRound / best;
}

}  // namespace dlroof
