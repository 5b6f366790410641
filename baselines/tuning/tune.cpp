#include "baselines/tuning/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "baselines/statistics/shift.h"
#include "counters/base/numbers.h"

namespace dlroof::tuning {
namespace {

// Returns the median of all clean windows of the default [s].
std::optional<double> SecondsOfDefault(const std::vector<TrialBlock>& blocks) {
  std::vector<double> seconds;
  for (const auto& block : blocks)
    for (std::size_t i = 0; i < block.settings.size(); ++i) {
      if (!block.settings[i].empty() || block.results[i].failure) continue;
      for (const auto& window : block.results[i].windows)
        if (!window.noisy) seconds.push_back(window.seconds);
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
constexpr int kFirstBlocks = 2;
// The last choice of a coordinate becomes a step if it is faster at one of these numbers of blocks;
// the search gives it up if it looks like the best so far at kFutile blocks or later. The level is
// 95 % each: a wrong step costs time, but no wrong result, since the confirmation drops it.
constexpr int kValidations[] = {8, 14};
constexpr int kFutile = 4;
constexpr double kValidationLevel = 0.95;
constexpr int kMostSweeps = 3;
// A choice that was slower by more than this is not tried again in the next sweep.
constexpr double kHopeless = 0.095310;  // log 1.1
// After this many blocks in a row without a ratio the machine is too busy to go on.
constexpr int kMostVoid = 8;

struct Candidate {
  Setting values;  // of the coordinate
  std::string reason;
  Setting setting;  // complete, with the other coordinates' values
  std::vector<double> log_ratios = {};
  std::optional<Reason> failure = {};

  double Center() const { return Median(log_ratios); }
  bool Known() const { return !failure && !log_ratios.empty(); }
};

using Candidates = std::vector<Candidate*>;

// Thrown when the budget of the search is spent. The best setting so far remains.
struct SearchOver {};

class CoordinateSearch {
 public:
  CoordinateSearch(TrialSequence& trials, Tuning& tuning, const Coordinate& coordinate)
      : trials_(trials), tuning_(tuning), coordinate_(coordinate) {}

  // Returns the candidate that beats the best setting so far, or null.
  const Candidate* Run(std::vector<Candidate>& all) {
    Candidates left;
    for (auto& candidate : all) left.push_back(&candidate);
    for (int blocks = kFirstBlocks; !left.empty(); blocks *= 2) {
      Measure(left, blocks);
      Drop(left);
      if (left.size() < 2) break;
      left.resize((left.size() + 1) / 2);
      if (left.size() == 1) break;
    }
    return !left.empty() && IsFaster(*left.front()) ? left.front() : nullptr;
  }

 private:
  double Bound() const { return std::log1p(tuning_.plan.min_effect); }

  // Adds `blocks` ratios to each candidate, if enough blocks are clean.
  void Measure(const Candidates& left, int blocks) {
    const std::size_t available = std::max<std::size_t>(2, tuning_.plan.together) - 1;
    for (std::size_t begin = 0; begin < left.size(); begin += available) {
      const Candidates some(
          left.begin() + static_cast<std::ptrdiff_t>(begin),
          left.begin() + static_cast<std::ptrdiff_t>(std::min(left.size(), begin + available)));
      int clean = 0, empty = 0;
      while (clean < blocks && empty < kMostVoid) {
        const bool any = MeasureOnce(some);
        clean += any ? 1 : 0;
        empty = any ? 0 : empty + 1;
        if (std::ranges::all_of(some,
                                [](const Candidate* one) { return one->failure.has_value(); }))
          break;
      }
    }
  }

  // Returns whether a candidate got a ratio.
  bool MeasureOnce(const Candidates& some) {
    if (trials_.seconds() >= kSearchShare * tuning_.plan.budget_seconds) throw SearchOver{};
    std::vector<Setting> settings = {tuning_.best};
    Candidates measured;
    for (auto* candidate : some)
      if (!candidate->failure) {
        settings.push_back(candidate->setting);
        measured.push_back(candidate);
      }
    const auto& block = trials_.Measure(coordinate_.name, settings);
    // A setting that had a time before may fail now and then; its blocks have no ratio.
    const auto& first = tuning_.blocks.front().results.front();
    if (first.failure) throw TuningFailed{first.failure->text, first.unsupported};
    bool any = false;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      if (!measured[i]->failure) measured[i]->failure = block.results[i + 1].failure;
      const auto ratio = LogRatio(block, i + 1);
      if (ratio) measured[i]->log_ratios.push_back(*ratio);
      any |= ratio.has_value();
    }
    return any;
  }

  // Drops candidates that are certainly not faster; sorts the others, the best first.
  void Drop(Candidates& left) const {
    std::erase_if(left, [&](const Candidate* one) {
      return !one->Known() || std::ranges::min(one->log_ratios) > Bound();
    });
    std::ranges::stable_sort(left, {}, [](const Candidate* one) { return one->Center(); });
  }

  bool IsFaster(Candidate& last) {
    for (const int validation : kValidations) {
      for (const int look : {kFutile, validation}) {
        const auto missing = look - static_cast<int>(last.log_ratios.size());
        if (missing > 0) Measure({&last}, missing);
        if (!last.Known() || last.Center() > -Bound() / 2) return false;
      }
      const auto shift = statistics::MeasurePairedShift(last.log_ratios, kValidationLevel);
      if (shift && shift->shift.ci95.second < 0 && shift->shift.log_ratio < -Bound()) return true;
    }
    return false;
  }

  TrialSequence& trials_;
  Tuning& tuning_;
  const Coordinate& coordinate_;
};

class Descent {
 public:
  Descent(TrialSequence& trials, Tuning& tuning) : trials_(trials), tuning_(tuning) {}

  void Run() {
    const auto& coordinates = tuning_.plan.coordinates;
    std::map<std::size_t, int> seen;  // number of changes when a coordinate was searched
    int changes = 0;
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      bool any = false;
      for (std::size_t i = 0; i < coordinates.size(); ++i) {
        if (sweep > 0 && seen[i] == changes) continue;
        if (SearchOne(coordinates[i])) any = true, ++changes;
        seen[i] = changes;
      }
      if (!any) return;
    }
  }

 private:
  // Returns whether the best setting changed.
  bool SearchOne(const Coordinate& coordinate) {
    auto candidates = CandidatesOf(coordinate);
    if (candidates.empty()) return false;
    trials_.Say(fmt::format("{}: {} choice{} against {} ({:.0f} s spent)", coordinate.name,
                            candidates.size(), candidates.size() == 1 ? "" : "s",
                            SettingText(PartOf(tuning_.best, coordinate)), trials_.seconds()));
    const Candidate* winner = nullptr;
    try {
      winner = CoordinateSearch(trials_, tuning_, coordinate).Run(candidates);
    } catch (const SearchOver&) {
      Record(coordinate, candidates, nullptr);
      throw;
    }
    Record(coordinate, candidates, winner);
    if (winner == nullptr) return false;
    trials_.Say(fmt::format("  {}: about {:.2f}x faster, to be confirmed",
                            SettingText(winner->values), std::exp(-winner->Center())));
    Take(coordinate, *winner);
    return true;
  }

  std::vector<Candidate> CandidatesOf(const Coordinate& coordinate) const {
    const auto now = PartOf(tuning_.best, coordinate);
    std::vector<Candidate> candidates;
    const auto add = [&](const Choice& choice) {
      if (choice.values != now && !IsHopeless(coordinate, choice.values))
        candidates.push_back(
            {choice.values, choice.reason, With(tuning_.best, coordinate, choice.values)});
    };
    for (const auto& choice : coordinate.choices) add(choice);
    add({{}, "the default again"});
    return candidates;
  }

  bool IsHopeless(const Coordinate& coordinate, const Setting& values) const {
    return std::ranges::any_of(tuning_.tried, [&](const TriedChoice& tried) {
      return tried.coordinate == coordinate.name && tried.values == values &&
             (tried.failed || (tried.ratio && std::log(*tried.ratio) > kHopeless));
    });
  }

  // Records the candidates other than the winner as tried.
  void Record(const Coordinate& coordinate, const std::vector<Candidate>& candidates,
              const Candidate* winner) {
    for (const auto& candidate : candidates) {
      std::erase_if(tuning_.tried, [&](const TriedChoice& tried) {
        return tried.coordinate == coordinate.name && tried.values == candidate.values;
      });
      if (&candidate == winner) continue;
      TriedChoice tried{coordinate.name,
                        candidate.values,
                        static_cast<int>(candidate.log_ratios.size()),
                        std::nullopt,
                        candidate.failure.has_value(),
                        VerdictOn(candidate, winner)};
      if (candidate.Known()) tried.ratio = std::exp(candidate.Center());
      tuning_.tried.push_back(std::move(tried));
    }
  }

  std::string VerdictOn(const Candidate& candidate, const Candidate* winner) const {
    if (candidate.failure) return "failed: " + candidate.failure->text;
    if (!candidate.Known()) return "not measured: the budget was spent, or its blocks were noisy";
    const double least = std::log1p(tuning_.plan.min_effect);
    if (candidate.Center() > least) return "slower";
    if (winner != nullptr) return "not faster than " + SettingText(winner->values);
    return candidate.Center() < -least
               ? "seems faster, not confirmed: its blocks scatter or are few"
               : "no effect";
  }

  void Take(const Coordinate& coordinate, const Candidate& winner) {
    tuning_.best = winner.setting;
    std::erase_if(tuning_.steps,
                  [&](const TuningStep& step) { return step.coordinate == coordinate.name; });
    if (!winner.values.empty())
      tuning_.steps.push_back({coordinate.name, winner.values, winner.reason, std::nullopt});
  }

  TrialSequence& trials_;
  Tuning& tuning_;
};

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

std::optional<Effect> Verify(const Tuning& tuning, const TuneHooks& hooks,
                             std::optional<Reason>& reason) {
  Tuning contender{.plan = tuning.plan};
  // A different order within the blocks than in the tuning.
  contender.plan.seed += 7919;
  TrialSequence trials(contender, hooks);
  try {
    auto effect = EffectBetween(trials, contender.plan, "verification", {}, tuning.best);
    if (!effect) reason = Reason{"too few clean blocks within the budget"};
    return effect;
  } catch (const TuningInterrupted&) {
    reason = Reason{"interrupted"};
  } catch (const TuningFailed& failed) {
    reason = Reason{failed.reason};
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

void Search(TrialSequence& trials, Tuning& tuning) {
  try {
    Descent(trials, tuning).Run();
  } catch (const SearchOver&) {
    tuning.budget_spent = true;
    trials.Say("the search's share of the budget is spent");
  }
}

}  // namespace dlroof::tuning
