#include "baselines/tune/tuning.h"

#include <algorithm>

#include "counters/base/keys.h"

namespace dlroof::tuning {
namespace {

constexpr KeyRow<TuningState> kStates[] = {
    {TuningState::kUnfinished, "unfinished"},      {TuningState::kNothingWon, "nothing_won"},
    {TuningState::kNotConfirmed, "not_confirmed"}, {TuningState::kConfirmed, "confirmed"},
    {TuningState::kUnsupported, "unsupported"},    {TuningState::kFailed, "failed"}};

}  // namespace

std::string_view Key(TuningState state) { return KeyIn(kStates, state); }
std::optional<TuningState> TuningStateFromKey(std::string_view key) {
  return ValueIn(kStates, key);
}

double SecondsOf(const Tuning& tuning) {
  double seconds = 0;
  for (const auto& block : tuning.blocks) seconds += block.seconds;
  return seconds;
}

int DisturbedBlocks(const Tuning& tuning) {
  return static_cast<int>(std::ranges::count_if(tuning.blocks, IsDisturbed));
}

}  // namespace dlroof::tuning
