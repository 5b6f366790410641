#include "baselines/tune/trial.h"

#include <utility>

#include "baselines/statistics/shift.h"
#include "counters/base/shuffled_order.h"

namespace dlroof::tuning {
namespace {

record::Record OfBlock(const TrialResult& result) {
  record::Record record{.repetitions = result.windows};
  for (auto& window : record.repetitions) window.block = 0;
  return record;
}

}  // namespace

MeasureBlock ByTurns(Trial trial, int rounds, double most_seconds, std::function<double()> now) {
  return [=](TrialBlock& block, std::uint64_t seed) {
    const double begin = now();
    block.results.assign(block.settings.size(), {});
    for (int round = 0; round < rounds; ++round)
      for (const auto i :
           ShuffledOrder(block.settings.size(), seed + static_cast<unsigned>(round))) {
        auto& result = block.results[i];
        if (!result.failed.empty()) continue;
        const auto one = trial(block.settings[i], most_seconds);
        if (!one) return false;
        result.failed = one->failed;
        result.unsupported = one->unsupported;
        result.windows.insert(result.windows.end(), one->windows.begin(), one->windows.end());
      }
    block.seconds = now() - begin;
    return true;
  };
}

std::optional<double> LogRatio(const TrialBlock& block, std::size_t fresh, std::size_t base) {
  const auto &old = block.results.at(base), &now = block.results.at(fresh);
  if (!old.failed.empty() || !now.failed.empty()) return std::nullopt;
  const auto ratios = statistics::BlockLogRatios(OfBlock(old), OfBlock(now));
  return ratios.empty() ? std::nullopt : std::optional(ratios.front());
}

bool IsDisturbed(const TrialBlock& block) {
  int with_times = 0;
  for (std::size_t i = 0; i < block.results.size(); ++i) {
    if (i > 0 && LogRatio(block, i)) return false;
    with_times += block.results[i].failed.empty() ? 1 : 0;
  }
  return with_times > 1;
}

}  // namespace dlroof::tuning
