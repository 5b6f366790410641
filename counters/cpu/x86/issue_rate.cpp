#include "counters/cpu/issue_rate.h"

#include <algorithm>
#include <array>

#include "counters/cpu/addition_chains.h"
#include "counters/cpu/clocks.h"
#include "counters/cpu/multiply_chain.h"

namespace dlroof {
namespace {

constexpr int kPairs = 5;
constexpr int kAddRounds = 600;
constexpr int kChainRounds = 200;

}  // namespace

std::optional<double> MeasureIssueRate() {
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

}  // namespace dlroof
