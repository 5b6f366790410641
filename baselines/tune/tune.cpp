#include "baselines/tune/tune.h"

#include <algorithm>

#include "baselines/tune/confirmation.h"
#include "baselines/tune/search.h"
#include "baselines/tune/trial_sequence.h"
#include "counters/base/order_statistics.h"

namespace dlroof {
namespace {

// [s] median of all clean windows of the default.
std::optional<double> SecondsOfDefault(const std::vector<TrialBlock>& blocks) {
  std::vector<double> seconds;
  for (const auto& block : blocks)
    for (std::size_t i = 0; i < block.settings.size(); ++i) {
      if (!block.settings[i].empty() || !block.results[i].failed.empty()) continue;
      for (const auto& window : block.results[i].windows)
        if (!window.disturbed) seconds.push_back(window.seconds);
    }
  return seconds.empty() ? std::nullopt : std::optional(Median(std::move(seconds)));
}

void SearchAndConfirm(TrialSequence& trials, Tuning& tuning) {
  Search(trials, tuning);
  if (tuning.steps.empty()) {
    tuning.best.clear();
    tuning.state = TuningState::kNothingWon;
    return;
  }
  Confirm(trials, tuning);
}

}  // namespace

Tuning Tune(const TuningPlan& plan, std::vector<TrialBlock> recorded, const TuneHooks& hooks) {
  Tuning tuning{.plan = plan, .blocks = std::move(recorded)};
  TrialSequence trials(tuning, hooks);
  try {
    SearchAndConfirm(trials, tuning);
  } catch (const TuningInterrupted&) {
    tuning.state = TuningState::kUnfinished;
  } catch (const TuningFailed& failed) {
    tuning.state = failed.unsupported ? TuningState::kUnsupported : TuningState::kFailed;
    tuning.reason = failed.reason;
  }
  tuning.default_seconds = SecondsOfDefault(tuning.blocks);
  if (hooks.save) hooks.save(tuning);
  return tuning;
}

std::optional<Effect> Verify(const Tuning& tuning, const TuneHooks& hooks, std::string& why) {
  Tuning fresh{.plan = tuning.plan};
  // Another order of turns than that of the tuning.
  fresh.plan.seed += 7919;
  TrialSequence trials(fresh, hooks);
  try {
    why = "too few clean blocks within the budget";
    return EffectBetween(trials, fresh.plan, "verification", {}, tuning.best);
  } catch (const TuningInterrupted&) {
    why = "interrupted";
  } catch (const TuningFailed& failed) {
    why = failed.reason;
  }
  return std::nullopt;
}

}  // namespace dlroof
