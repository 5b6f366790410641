#include "baselines/tune/tune.h"

#include <fmt/format.h>

#include <algorithm>

#include "baselines/tune/stages.h"
#include "counters/base/order_statistics.h"

namespace dlroof::tuning {
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

void TrialSequence::Say(const std::string& sentence) const {
  if (hooks_.say) hooks_.say(sentence);
}

const TrialBlock& TrialSequence::Measure(const std::string& stage,
                                         const std::vector<Setting>& settings) {
  auto& blocks = tuning_.blocks;
  if (next_ < blocks.size() &&
      (blocks[next_].stage != stage || blocks[next_].settings != settings)) {
    Say(fmt::format("{} recorded blocks are of another course of the search: measured again",
                    blocks.size() - next_));
    blocks.resize(next_);
  }
  if (next_ == blocks.size()) {
    TrialBlock block{stage, settings, {}, 0};
    if (!hooks_.measure(block, tuning_.plan.seed + 1009 * next_)) throw TuningInterrupted{};
    blocks.push_back(std::move(block));
    if (hooks_.save) hooks_.save(tuning_);
  }
  seconds_ += blocks[next_].seconds;
  return blocks[next_++];
}

}  // namespace dlroof::tuning
