#include <algorithm>
#include <array>

#include "counters/cpu/addition_chains.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/core_clock.h"
#include "counters/cpu/issue_rate.h"

namespace dlroof::cpu {
namespace {

// A chain of which the length in cycles is known.
constexpr int kMultipliesPerRound = 16;
constexpr double kCyclesPerMultiply = 3;

// `rounds` times kMultipliesPerRound multiplications, each of which waits for the one before. Not a
// chain of additions: new cores fold those of a constant and run several in a cycle. 32 bits wide,
// for which small cores need 3 cycles too.
[[gnu::noinline]] unsigned MultiplyInAChain(unsigned value, int rounds) {
  for (int round = 0; round < rounds; ++round)
    asm volatile(
        ".rept 16\n\t"
        "imull %0, %0\n\t"
        ".endr"
        : "+r"(value));
  return value;
}

}  // namespace

std::optional<double> MeasureCoreClock() {
  constexpr int kChains = 4, kRounds = 1600;
  double best = 1;  // [s]
  unsigned value = 3;
  for (int chain = 0; chain < kChains; ++chain) {
    const double begin = WallSeconds();
    value = MultiplyInAChain(value, kRounds);
    best = std::min(best, WallSeconds() - begin);
  }
  return kCyclesPerMultiply * kRounds * kMultipliesPerRound / best;
}

std::optional<double> MeasureIssueRate() {
  constexpr int kPairs = 5, kAddRounds = 600, kChainRounds = 200;
  std::array<double, kPairs> rates{};
  unsigned value = 3;
  for (double& rate : rates) {
    const double begin = WallSeconds();
    value = AddInChains(value, kAddRounds);
    const double middle = WallSeconds();
    value = MultiplyInAChain(value | 1, kChainRounds);
    const double end = WallSeconds();
    const double cycles_per_second =
        kCyclesPerMultiply * kChainRounds * kMultipliesPerRound / (end - middle);
    rate = kAddRounds * kAdditionsPerRound / (middle - begin) / cycles_per_second;
  }
  std::nth_element(rates.begin(), rates.begin() + kPairs / 2, rates.end());
  return rates[kPairs / 2];
}

}  // namespace dlroof::cpu
