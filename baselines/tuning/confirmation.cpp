#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "baselines/statistics/judge.h"
#include "baselines/tuning/tune.h"

namespace dlroof::tuning {
namespace {

constexpr double kError = 0.05;
constexpr double kFineWidth = 0.05;  // [1] width of a logarithm's interval
// Noisy blocks do not count, but take time.
constexpr int kMostBlocks = 2 * statistics::kLooks.back();

// A ratio between two settings of a chain that is to be confirmed.
struct Statement {
  std::size_t before = 0, after = 0;  // indices of the chain
  std::vector<double> log_ratios = {};
  std::optional<Effect> effect = {};  // set when there are enough blocks for an interval
  bool settled = false;
};

// Judges the statement with its share of the error.
void Look(Statement& statement, double error, double min_effect) {
  const auto paired = statistics::MeasureSequentialShift(statement.log_ratios, error);
  if (!paired) return;
  const auto& shift = paired->shift;
  const double bound = std::log1p(min_effect);
  const bool confirmed = shift.ci95.second < 0 && shift.log_ratio < -bound;
  statement.effect = Effect{std::exp(shift.log_ratio),
                            {std::exp(shift.ci95.first), std::exp(shift.ci95.second)},
                            static_cast<int>(statement.log_ratios.size()),
                            confirmed};
  // A confirmed gain must also be precise: the interval is at most as wide as half of it, or 5 %.
  const double width = shift.ci95.second - shift.ci95.first;
  const bool precise = width <= std::max(kFineWidth, -shift.log_ratio / 2);
  statement.settled = confirmed ? precise : shift.ci95.first > -bound;
}

// Measures a chain of settings interleaved until each statement about it is settled.
class Chain {
 public:
  Chain(TrialSequence& trials, const TuningPlan& plan, std::string stage,
        std::vector<Setting> settings)
      : trials_(trials), plan_(plan), stage_(std::move(stage)), settings_(std::move(settings)) {
    failures_.resize(settings_.size());
    for (std::size_t i = 1; i < settings_.size(); ++i) statements_.push_back({i - 1, i});
    if (settings_.size() > 2) statements_.push_back({0, settings_.size() - 1});
  }

  // Measures until all is settled. `error` [1] is that of all statements together.
  void Measure(double error) {
    const double share = error / static_cast<double>(statements_.size());
    std::size_t looks = 0;
    for (int block = 0; block < kMostBlocks && looks < statistics::kLooks.size(); ++block) {
      if (trials_.seconds() >= plan_.budget_seconds || Broken()) break;
      MeasureOnce();
      if (Clean() < statistics::kLooks.at(looks)) continue;
      ++looks;
      for (auto& statement : statements_) Look(statement, share, plan_.min_effect);
      if (std::ranges::all_of(statements_, &Statement::settled)) return;
    }
    // The budget is spent, which does not depend on the ratios.
    if (looks < statistics::kLooks.size())
      for (auto& statement : statements_) Look(statement, share, plan_.min_effect);
  }

  // The steps in order, then the total; a single step is the total.
  const std::vector<Statement>& statements() const { return statements_; }
  // Returns the last failure of the setting at this index of the chain.
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

  // Tolerates one crash.
  bool Broken() const { return failure_count_ > 1; }

  int Clean() const {
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

const Coordinate& CoordinateOf(const Tuning& tuning, const TuningStep& step) {
  return *std::ranges::find(tuning.plan.coordinates, step.coordinate, &Coordinate::name);
}

// Returns the default, then the setting after each step.
std::vector<Setting> SettingsOf(const Tuning& tuning) {
  std::vector<Setting> settings(1);
  for (const auto& step : tuning.steps)
    settings.push_back(With(settings.back(), CoordinateOf(tuning, step), step.values));
  return settings;
}

bool IsConfirmed(const TuningStep& step) { return step.effect && step.effect->confirmed; }

std::string DroppedText(const TuningStep& step, const std::optional<Reason>& failure) {
  if (!step.effect && failure)
    return fmt::format("{}: failed: {}", SettingText(step.values), failure->text);
  if (!step.effect) return SettingText(step.values) + ": too few clean blocks";
  const auto& [low, high] = step.effect->interval;
  return fmt::format("{}: {:.3f} to {:.3f} of the time before", SettingText(step.values), low,
                     high);
}

// Removes the steps that are not confirmed. If each step is confirmed but not their total, no step
// is left.
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
  // Without budget for another round only the first step, which was compared with the default,
  // stays.
  if (over) {
    const bool first =
        !confirmed.empty() && confirmed.front().coordinate == tuning.steps.front().coordinate;
    confirmed.resize(first ? 1 : 0);
  }
  tuning.steps = std::move(confirmed);
  tuning.best = SettingsOf(tuning).back();
}

// Returns whether the confirmation is finished.
bool ConfirmRound(TrialSequence& trials, Tuning& tuning, int round, double error) {
  Chain chain(trials, tuning.plan, fmt::format("confirmation {}", round), SettingsOf(tuning));
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

}  // namespace

void Confirm(TrialSequence& trials, Tuning& tuning) {
  double error = kError;
  for (int round = 1;; ++round) {
    error /= 2;
    trials.Say(fmt::format("confirming {} in new blocks ({:.0f} s spent)", SettingText(tuning.best),
                           trials.seconds()));
    if (ConfirmRound(trials, tuning, round, error)) return;
  }
}

std::optional<Effect> EffectBetween(TrialSequence& trials, const TuningPlan& plan,
                                    const std::string& stage, const Setting& before,
                                    const Setting& after) {
  Chain chain(trials, plan, stage, {before, after});
  chain.Measure(kError);
  const auto& effect = chain.statements().front().effect;
  for (std::size_t i = 0; i < 2 && !effect; ++i)
    if (chain.failure(i)) throw TuningFailed{chain.failure(i)->text};
  return effect;
}

}  // namespace dlroof::tuning
