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
constexpr double kFineWidth = 0.05;  // [1] of a logarithm's interval
// Noisy blocks do not count, but time does.
constexpr int kMostBlocks = 2 * statistics::kLooks.back();

// A ratio that is to be validated, between two settings of a chain.
struct Statement {
  std::size_t before = 0, after = 0;  // indices of the chain
  std::vector<double> log_ratios = {};
  std::optional<Effect> effect = {};  // absent: too few blocks for an interval
  bool settled = false;
};

// Looks at the statement with its share of the error.
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
  // A gain shall also be known well: its interval no wider than half of it, or than 5 %.
  const double width = shift.ci95.second - shift.ci95.first;
  const bool well = width <= std::max(kFineWidth, -shift.log_ratio / 2);
  statement.settled = confirmed ? well : shift.ci95.first > -bound;
}

// Measures a chain of settings interleaved until each statement about it is settled.
class Chain {
 public:
  Chain(TrialSequence& trials, const TuningPlan& plan, std::string stage,
        std::vector<Setting> settings)
      : trials_(trials), plan_(plan), stage_(std::move(stage)), settings_(std::move(settings)) {
    failed_.resize(settings_.size());
    for (std::size_t i = 1; i < settings_.size(); ++i) statements_.push_back({i - 1, i});
    if (settings_.size() > 2) statements_.push_back({0, settings_.size() - 1});
  }

  // `error` [1]: of all statements together.
  void Prove(double error) {
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
    // The time is over, which does not depend on the ratios.
    if (looks < statistics::kLooks.size())
      for (auto& statement : statements_) Look(statement, share, plan_.min_effect);
  }

  // Steps in order, then the total; of one step the step is the total.
  const std::vector<Statement>& statements() const { return statements_; }
  // Returns the reason of the last failure of the setting at this place of the chain, or nothing.
  const std::string& failed(std::size_t place) const { return failed_.at(place); }

 private:
  void MeasureOnce() {
    const auto& block = trials_.Measure(stage_, settings_);
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      if (block.results[i].failed.empty()) continue;
      failed_[i] = block.results[i].failed;
      ++failures_;
    }
    for (auto& statement : statements_)
      if (const auto ratio = LogRatio(block, statement.after, statement.before))
        statement.log_ratios.push_back(*ratio);
  }

  // One crash may be an accident.
  bool Broken() const { return failures_ > 1; }

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
  std::vector<std::string> failed_;
  int failures_ = 0;
};

const Coordinate& CoordinateOf(const Tuning& tuning, const TuningStep& step) {
  return *std::ranges::find(tuning.plan.coordinates, step.coordinate, &Coordinate::name);
}

// Default, then the setting after each step.
std::vector<Setting> SettingsOf(const Tuning& tuning) {
  std::vector<Setting> settings(1);
  for (const auto& step : tuning.steps)
    settings.push_back(With(settings.back(), CoordinateOf(tuning, step), step.values));
  return settings;
}

bool IsConfirmed(const TuningStep& step) { return step.effect && step.effect->confirmed; }

std::string WhyDropped(const TuningStep& step, const std::string& failed) {
  if (!step.effect && !failed.empty())
    return fmt::format("{}: failed: {}", SettingText(step.values), failed);
  if (!step.effect) return SettingText(step.values) + ": too few clean blocks";
  const auto& [low, high] = step.effect->interval;
  return fmt::format("{}: {:.3f} to {:.3f} of the time before", SettingText(step.values), low, high);
}

// Takes out the steps that are not confirmed. Where all seem to be, but not the whole, no step is
// left either.
void DropUnconfirmed(const Chain& chain, bool over, Tuning& tuning) {
  std::vector<TuningStep> kept;
  for (std::size_t i = 0; i < tuning.steps.size(); ++i) {
    const auto& step = tuning.steps[i];
    if (IsConfirmed(step))
      kept.push_back(step);
    else
      tuning.dropped.push_back(WhyDropped(step, chain.failed(i + 1)));
  }
  if (kept.size() == tuning.steps.size()) kept.clear();
  // Nothing can be measured any more: the first step alone was compared with the default.
  if (over) {
    const bool first = !kept.empty() && kept.front().coordinate == tuning.steps.front().coordinate;
    kept.resize(first ? 1 : 0);
  }
  tuning.steps = std::move(kept);
  tuning.best = SettingsOf(tuning).back();
}

// Returns whether nothing is left to do.
bool ConfirmRound(TrialSequence& trials, Tuning& tuning, int round, double error) {
  Chain chain(trials, tuning.plan, fmt::format("confirmation {}", round), SettingsOf(tuning));
  chain.Prove(error);
  const auto& statements = chain.statements();
  if (!chain.failed(0).empty() && !statements.back().effect) throw TuningFailed{chain.failed(0)};
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
    tuning.reason = over ? "the budget was spent before a gain was validated"
                         : "fresh blocks do not prove that anything is faster";
  return true;
}

}  // namespace

void Confirm(TrialSequence& trials, Tuning& tuning) {
  double error = kError;
  for (int round = 1;; ++round) {
    error /= 2;
    trials.Say(fmt::format("confirming {} in fresh blocks ({:.0f} s spent)", SettingText(tuning.best),
                           trials.seconds()));
    if (ConfirmRound(trials, tuning, round, error)) return;
  }
}

std::optional<Effect> EffectBetween(TrialSequence& trials, const TuningPlan& plan,
                                    const std::string& stage, const Setting& before,
                                    const Setting& after) {
  Chain chain(trials, plan, stage, {before, after});
  chain.Prove(kError);
  const auto& effect = chain.statements().front().effect;
  for (std::size_t i = 0; i < 2 && !effect; ++i)
    if (!chain.failed(i).empty()) throw TuningFailed{chain.failed(i)};
  return effect;
}

}  // namespace dlroof::tuning
