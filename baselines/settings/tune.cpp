#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "baselines/settings/tuning.h"
#include "baselines/statistics/judge.h"
#include "counters/base/numbers.h"

namespace dlroof::settings {
namespace {

std::optional<double> SecondsOfDefault(const std::vector<TrialBlock>& blocks) {
  std::vector<double> seconds;
  for (const auto& block : blocks)
    for (std::size_t i = 0; i < block.settings.size(); ++i) {
      if (!block.settings[i].empty() || block.results[i].failure) continue;
      for (const double time : TimesOf(block.results[i])) seconds.push_back(time);
    }
  return seconds.empty() ? std::nullopt : std::optional(Median(std::move(seconds)));
}

constexpr double kError = 0.05;
constexpr double kFineWidth = 0.05;  // [1] an interval of a log ratio this narrow suffices
constexpr int kGpuBlocks = 2;

// A ratio of the times of two settings of a Chain, which is to be confirmed.
struct Statement {
  std::size_t before = 0, after = 0;  // indices into the chain's settings
  std::vector<double> log_ratios = {};
  std::optional<Effect> effect = {};  // set once there are enough blocks for an interval
  bool settled = false;               // no more blocks are needed
};

// Tests the ratio with error probability `error` [1], and sets `effect` and `settled`.
void Look(Statement& statement, double error, double min_effect) {
  const auto measured = statistics::MeasureSequentialShift(statement.log_ratios, error);
  if (!measured) return;
  const auto& shift = *measured;
  const double bound = std::log1p(min_effect);
  const bool confirmed = shift.ci95.second < 0 && shift.log_ratio < -bound;
  statement.effect = Effect{std::exp(shift.log_ratio),
                            {std::exp(shift.ci95.first), std::exp(shift.ci95.second)},
                            static_cast<int>(statement.log_ratios.size()),
                            confirmed};
  // The interval of a confirmed gain must be at most as wide as kFineWidth or half the gain.
  const double width = shift.ci95.second - shift.ci95.first;
  const bool precise = width <= std::max(kFineWidth, -shift.log_ratio / 2);
  statement.settled = confirmed ? precise : shift.ci95.first > -bound;
}

// Measures settings interleaved until the ratios of each setting to the previous one, and of the
// last to the first, are settled.
class Chain {
 public:
  Chain(TrialSequence& trials, const TuningPlan& plan, std::string stage,
        std::vector<Setting> settings)
      : trials_(trials), plan_(plan), stage_(std::move(stage)), settings_(std::move(settings)) {
    failures_.resize(settings_.size());
    for (std::size_t i = 1; i < settings_.size(); ++i) statements_.push_back({i - 1, i});
    if (settings_.size() > 2) statements_.push_back({0, settings_.size() - 1});
  }

  // Measures blocks until all ratios are settled, the budget is spent, the last test is made, or
  // settings failed twice. `error` [1]: error probability of all tests together.
  void Measure(double error) {
    if (plan_.OnGpu()) return MeasureOnGpu();
    const double share = error / static_cast<double>(statements_.size());
    std::size_t looks = 0;
    while (looks < statistics::kLooks.size()) {
      if (trials_.seconds() >= plan_.budget_seconds || Broken()) break;
      MeasureOnce();
      if (Blocks() < statistics::kLooks.at(looks)) continue;
      ++looks;
      for (auto& statement : statements_) Look(statement, share, plan_.min_effect);
      if (std::ranges::all_of(statements_, &Statement::settled)) return;
    }
    // Stopped early by the budget or by failures, not because of the ratios, so tests now.
    if (looks < statistics::kLooks.size())
      for (auto& statement : statements_) Look(statement, share, plan_.min_effect);
  }

  // Measures kGpuBlocks blocks. Every block must show a gain; the interval is the blocks' range.
  void MeasureOnGpu() {
    while (Blocks() < kGpuBlocks && !Broken()) MeasureOnce();
    for (auto& statement : statements_) {
      if (Blocks() < kGpuBlocks) return;
      const auto [low, high] = std::ranges::minmax(statement.log_ratios);
      statement.effect = Effect{std::exp((low + high) / 2),
                                {std::exp(low), std::exp(high)},
                                kGpuBlocks,
                                high < -std::log1p(plan_.min_effect)};
    }
  }

  // Returns a statement (ratio of times) per step and, after several steps, one for all together.
  const std::vector<Statement>& statements() const { return statements_; }
  // Returns the last failure of settings[index], if any.
  const std::optional<Reason>& failure(std::size_t index) const { return failures_.at(index); }

 private:
  void MeasureOnce() {
    const auto& block = trials_.Measure(stage_, settings_);
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      if (!block.results[i].failure) continue;
      failures_[i] = block.results[i].failure;
      ++failure_count_;
    }
    for (auto& statement : statements_)
      if (const auto ratio = LogRatio(block, statement.after, statement.before))
        statement.log_ratios.push_back(*ratio);
  }

  // Returns whether settings failed more than once. A single failure is tolerated.
  bool Broken() const { return failure_count_ > 1; }

  int Blocks() const {
    std::size_t least = statements_.front().log_ratios.size();
    for (const auto& statement : statements_) least = std::min(least, statement.log_ratios.size());
    return static_cast<int>(least);
  }

  TrialSequence& trials_;
  const TuningPlan& plan_;
  std::string stage_;
  std::vector<Setting> settings_;
  std::vector<Statement> statements_;
  std::vector<std::optional<Reason>> failures_;
  int failure_count_ = 0;
};

std::vector<Setting> SettingsOf(const Tuning& tuning) {
  const auto& coordinates = tuning.plan.coordinates;
  std::vector<Setting> settings(1);
  for (const auto& step : tuning.steps)
    settings.push_back(With(settings.back(),
                            *std::ranges::find(coordinates, step.coordinate, &Coordinate::name),
                            step.values));
  return settings;
}

bool IsConfirmed(const TuningStep& step) { return step.effect && step.effect->confirmed; }

std::string DroppedText(const TuningStep& step, const std::optional<Reason>& failure) {
  if (!step.effect && failure)
    return fmt::format("{}: failed: {}", SettingText(step.values), failure->text);
  if (!step.effect) return SettingText(step.values) + ": too few blocks";
  const auto& [low, high] = step.effect->interval;
  return fmt::format("{}: {:.3f} to {:.3f} of the time before", SettingText(step.values), low,
                     high);
}

// Removes the unconfirmed steps. Removes all steps if each is confirmed but not their total.
void DropUnconfirmed(const Chain& chain, bool over, Tuning& tuning) {
  std::vector<TuningStep> confirmed;
  for (std::size_t i = 0; i < tuning.steps.size(); ++i) {
    const auto& step = tuning.steps[i];
    if (IsConfirmed(step))
      confirmed.push_back(step);
    else
      tuning.dropped.push_back(DroppedText(step, chain.failure(i + 1)));
  }
  if (confirmed.size() == tuning.steps.size()) confirmed.clear();
  // With the budget spent (`over`), only the first step can remain: it is relative to the default.
  if (over) {
    const bool first =
        !confirmed.empty() && confirmed.front().coordinate == tuning.steps.front().coordinate;
    confirmed.resize(first ? 1 : 0);
  }
  tuning.steps = std::move(confirmed);
  tuning.best = SettingsOf(tuning).back();
}

// Measures and judges all steps once. Returns whether no further round is needed.
bool ConfirmRound(TrialSequence& trials, Tuning& tuning, int round, double error) {
  Chain chain(trials, tuning.plan, fmt::format("{} {}", kConfirmationStage, round),
              SettingsOf(tuning));
  chain.Measure(error);
  const auto& statements = chain.statements();
  if (chain.failure(0) && !statements.back().effect) throw TuningFailed{chain.failure(0)->text};
  for (std::size_t i = 0; i < tuning.steps.size(); ++i)
    tuning.steps[i].effect = statements[i].effect;
  tuning.total = statements.back().effect;
  const bool over = trials.seconds() >= tuning.plan.budget_seconds;
  tuning.budget_spent |= over;
  if (tuning.total && tuning.total->confirmed &&
      (over || std::ranges::all_of(tuning.steps, IsConfirmed))) {
    tuning.state = TuningState::kConfirmed;
    return true;
  }
  DropUnconfirmed(chain, over, tuning);
  tuning.total.reset();
  if (!tuning.steps.empty() && !over) return false;
  if (!tuning.steps.empty()) tuning.total = tuning.steps.front().effect;
  tuning.state = tuning.steps.empty() ? TuningState::kNotConfirmed : TuningState::kConfirmed;
  if (tuning.steps.empty())
    tuning.reason = over ? "the budget was spent before a gain was confirmed"
                         : "new blocks do not confirm that anything is faster";
  return true;
}

// Confirms steps in new blocks of the default and the setting after each step, interleaved. Sets
// effects, total, state, reason and `dropped`; removes unconfirmed steps from `steps` and `best`.
void Confirm(TrialSequence& trials, Tuning& tuning) {
  double error = kError;
  for (int round = 1;; ++round) {
    error /= 2;
    trials.Say(fmt::format("confirming {} in new blocks ({:.0f} s spent)", SettingText(tuning.best),
                           trials.seconds()));
    if (ConfirmRound(trials, tuning, round, error)) return;
  }
}

}  // namespace

Tuning Tune(const TuningPlan& plan, std::vector<TrialBlock> recorded, const TuneHooks& hooks) {
  Tuning tuning{.plan = plan, .blocks = std::move(recorded)};
  TrialSequence trials(tuning, hooks);
  try {
    Search(trials, tuning);
    if (tuning.steps.empty()) {
      tuning.best.clear();
      tuning.state = TuningState::kNothingWon;
    } else {
      Confirm(trials, tuning);
    }
  } catch (const TuningInterrupted&) {
    tuning.state = TuningState::kUnfinished;
  } catch (const TuningFailed& failed) {
    tuning.state = failed.unsupported ? TuningState::kUnsupported : TuningState::kFailed;
    tuning.reason = failed.reason;
  }
  tuning.default_seconds = SecondsOfDefault(tuning.blocks);
  JudgeNoise(tuning);
  if (hooks.save) hooks.save(tuning);
  return tuning;
}

std::optional<Effect> Verify(const Tuning& tuning, const TuneHooks& hooks,
                             std::optional<Reason>& reason) {
  Tuning contender{.plan = tuning.plan};
  contender.plan.seed += 7919;
  TrialSequence trials(contender, hooks);
  Chain chain(trials, contender.plan, "verification", {{}, tuning.best});
  try {
    chain.Measure(kError);
  } catch (const TuningInterrupted&) {
    reason = Reason{"interrupted"};
    return std::nullopt;
  }
  auto effect = chain.statements().front().effect;
  if (effect) {
    effect->repetitions = CountRepetitions(contender.blocks, "");
    effect->confirmed = effect->confirmed && !effect->repetitions.AreMostlyNoisy();
  } else {
    reason = chain.failure(0) ? chain.failure(0) : chain.failure(1);
    if (!reason) reason = Reason{"too few blocks within the budget"};
  }
  return effect;
}

void TrialSequence::Say(const std::string& sentence) const {
  if (hooks_.say) hooks_.say(sentence);
}

const TrialBlock& TrialSequence::Measure(const std::string& stage,
                                         const std::vector<Setting>& settings) {
  auto& blocks = tuning_.blocks;
  if (next_ < blocks.size() &&
      (blocks[next_].stage != stage || blocks[next_].settings != settings)) {
    Say(fmt::format("{} recorded blocks do not belong to this search, and are measured again",
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

}  // namespace dlroof::settings
