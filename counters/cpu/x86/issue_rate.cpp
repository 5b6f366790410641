#include "counters/cpu/issue_rate.h"

#include <algorithm>
#include <array>

#include "counters/cpu/clocks.h"
#include "counters/cpu/multiply_chain.h"

namespace dlroof {
namespace {

constexpr int kPairs = 5;
constexpr int kAddRounds = 600, kAddsPerRound = 64;
constexpr int kChainRounds = 200;

// Eight chains, each one addition a cycle: up to eight in a cycle. Both operands are registers:
// some cores skip the addition of a constant.
[[gnu::noinline]] unsigned Add(unsigned x) {
  unsigned a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7;
  for (int round = 0; round < kAddRounds; ++round)
    asm volatile(
        ".rept 8\n\t"
        "addl %8, %0\n\taddl %8, %1\n\taddl %8, %2\n\taddl %8, %3\n\t"
        "addl %8, %4\n\taddl %8, %5\n\taddl %8, %6\n\taddl %8, %7\n\t"
        ".endr"
        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h)
        : "r"(x));
  return a + b + c + d + e + f + g + h;
}

}  // namespace

std::optional<double> MeasureIssueRate() {
  std::array<double, kPairs> rates{};
  unsigned value = 3;
  for (double& rate : rates) {
    const double begin = WallSeconds();
    value = Add(value);
    const double middle = WallSeconds();
    value = MultiplyInAChain(value | 1, kChainRounds);
    const double end = WallSeconds();
    const double cycles_per_second =
        kCyclesPerMultiply * kChainRounds * kMultipliesPerRound / (end - middle);
    rate = kAddRounds * kAddsPerRound / (middle - begin) / cycles_per_second;
  }
  std::nth_element(rates.begin(), rates.begin() + kPairs / 2, rates.end());
  return rates[kPairs / 2];
}

}  // namespace dlroof
