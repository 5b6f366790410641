#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "baselines/settings/tuning.h"
#include "baselines/statistics/shift.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"

namespace dlroof::settings {
namespace {

// Returns the number of blocks after which a choice is judged. On a CPU one block may be wrong by
// any factor, because another program ran at the same time.
int FirstBlocks(const TuningPlan& plan) { return plan.OnGpu() ? 1 : 2; }

// Share [1] of the budget for the search; the rest is for the confirmation.
constexpr double kSearchShare = 0.6;
// [1] If a choice's log ratios differ by more than this, the verdict cannot be "no effect".
constexpr double kScatter = 0.1;
// Numbers of blocks after which the last choice of a coordinate is tested, each time at 95 %. If it
// is faster, it becomes a step (the confirmation drops wrong steps). It is dropped if after kFutile
// or these numbers of blocks its median gain is less than half the minimum effect.
constexpr int kValidations[] = {8, 14};
constexpr int kFutile = 4;
constexpr double kValidationLevel = 0.95;
constexpr int kMaxSweeps = 3;
// A choice with a larger log ratio is not tried again in the next sweep.
constexpr double kHopeless = 0.095310;  // log 1.1

struct Candidate {
  Setting values;  // of the coordinate's knobs
  std::string reason;
  Setting setting;  // complete setting, including the other coordinates' values
  std::vector<double> log_ratios = {};
  std::optional<Reason> failure = {};

  double Center() const { return Median(log_ratios); }
  bool Known() const { return !failure && !log_ratios.empty(); }
  bool HasVerdict(const TuningPlan& plan) const {
    return Known() && static_cast<int>(log_ratios.size()) >= FirstBlocks(plan);
  }
};

using Candidates = std::vector<Candidate*>;

// Thrown when the budget of the search is spent. The best setting so far remains.
struct SearchOver {};

class Descent {
 public:
  Descent(TrialSequence& trials, Tuning& tuning) : trials_(trials), tuning_(tuning) {}

  void Run() {
    const auto& coordinates = tuning_.plan.coordinates;
    Survey();
    std::map<std::size_t, int> seen;  // coordinate -> value of changes_ when it was searched last
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      const int before = changes_;
      for (const auto i : order_) {
        if (sweep > 0 && seen[i] == changes_) continue;
        if (SearchOne(coordinates[i], sweep == 0 && changes_ == 0 ? &surveyed_[i] : nullptr))
          ++changes_;
        seen[i] = changes_;
      }
      if (changes_ == before) return;
    }
  }

 private:
  // Measures FirstBlocks() rounds, each with one block of every coordinate. Then sorts the
  // coordinates, the most promising first.
  void Survey() {
    const auto& coordinates = tuning_.plan.coordinates;
    for (const auto& coordinate : coordinates) surveyed_.push_back(CandidatesOf(coordinate));
    try {
      const int blocks = FirstBlocks(tuning_.plan);
      for (int block = 1; block <= blocks; ++block) {
        trials_.Say(fmt::format("block {} of {} of each of {} knobs ({:.0f} s spent)", block,
                                blocks, coordinates.size(), trials_.seconds()));
        for (std::size_t i = 0; i < coordinates.size(); ++i) {
          stage_ = coordinates[i].name;
          ForSome(PointersTo(surveyed_[i]), [&](const Candidates& some) { MeasureOnce(some); });
        }
      }
    } catch (const SearchOver&) {
      RecordSurvey();
      throw;
    }
    RecordSurvey();
    for (std::size_t i = 0; i < coordinates.size(); ++i) order_.push_back(i);
    std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return Promise(surveyed_[i]); });
  }

  void RecordSurvey() {
    for (std::size_t i = 0; i < surveyed_.size(); ++i)
      Record(tuning_.plan.coordinates[i], surveyed_[i], nullptr);
  }

  // Returns the smallest log ratio of the candidates (the largest gain), or 0 if none is faster.
  static double Promise(const std::vector<Candidate>& candidates) {
    double least = 0;
    for (const auto& candidate : candidates)
      if (candidate.Known()) least = std::min(least, candidate.Center());
    return least;
  }

  // Searches the choices of one coordinate. Returns whether the best setting changed. `surveyed`:
  // the coordinate's candidates if the survey measured them against the best setting, else null.
  bool SearchOne(const Coordinate& coordinate, const std::vector<Candidate>* surveyed) {
    auto candidates = surveyed != nullptr ? *surveyed : CandidatesOf(coordinate);
    if (candidates.empty()) return false;
    trials_.Say(fmt::format("{}: {} choice{} against {} ({:.0f} s spent)", coordinate.name,
                            candidates.size(), candidates.size() == 1 ? "" : "s",
                            SettingText(PartOf(tuning_.best, coordinate)), trials_.seconds()));
    stage_ = coordinate.name;
    const Candidate* winner = nullptr;
    try {
      winner = FastestOf(candidates);
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
      if (!choice.values.empty() && choice.values != now && !IsHopeless(coordinate, choice.values))
        candidates.push_back(
            {choice.values, choice.reason, With(tuning_.best, coordinate, choice.values)});
    };
    for (const auto& choice : coordinate.choices) add(choice);
    // Tries the coordinate's default again: later steps may have made its current choice useless.
    if (!now.empty() && !IsHopeless(coordinate, {}))
      candidates.push_back({{}, "undone", With(tuning_.best, coordinate, {})});
    return candidates;
  }

  bool IsHopeless(const Coordinate& coordinate, const Setting& values) const {
    return std::ranges::any_of(tuning_.tried, [&](const TriedChoice& tried) {
      return tried.coordinate == coordinate.name && tried.values == values &&
             (tried.failed || (tried.ratio && std::log(*tried.ratio) > kHopeless));
    });
  }

  // Replaces the entries of all candidates in tuning_.tried; a winner gets no entry.
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
                        VerdictOn(coordinate, candidate, winner),
                        tuning_.best};
      if (candidate.HasVerdict(tuning_.plan)) tried.ratio = std::exp(candidate.Center());
      tuning_.tried.push_back(std::move(tried));
    }
  }

  std::string VerdictOn(const Coordinate& coordinate, const Candidate& candidate,
                        const Candidate* winner) const {
    if (candidate.failure) return "failed: " + candidate.failure->text;
    if (!candidate.Known()) return "not measured: the budget was spent";
    if (!candidate.HasVerdict(tuning_.plan)) return "no verdict: one block is not enough";
    const double least = Bound();
    const auto [low, high] = std::ranges::minmax(candidate.log_ratios);
    if (low > least) return "slower";
    if (candidate.Center() > least) return "seems slower, but its blocks scatter";
    if (winner != nullptr) return "not faster than " + SettingText(winner->values);
    if (candidate.Center() < -least)
      return "seems faster, not confirmed: its blocks scatter or are few";
    if (high - low > kScatter)
      return fmt::format("no effect seen, but its blocks differ by {:.0f} %",
                         100 * std::expm1(high - low));
    const auto others = With(tuning_.best, coordinate, {});
    return others.empty() ? "no effect" : "no effect on top of " + SettingText(others);
  }

  void Take(const Coordinate& coordinate, const Candidate& winner) {
    tuning_.best = winner.setting;
    std::erase_if(tuning_.steps,
                  [&](const TuningStep& step) { return step.coordinate == coordinate.name; });
    if (!winner.values.empty())
      tuning_.steps.push_back({coordinate.name, winner.values, winner.reason, std::nullopt});
  }

  // Returns the candidate that is faster than the best setting so far, or null if none is. Uses the
  // ratios that the survey measured, too.
  const Candidate* FastestOf(std::vector<Candidate>& all) {
    auto left = PointersTo(all);
    const int first = FirstBlocks(tuning_.plan);
    for (int blocks = first; !left.empty(); blocks *= 2) {
      Measure(left, blocks, blocks == first);
      Drop(left);
      if (left.size() < 2) break;
      left.resize(tuning_.plan.OnGpu() ? 1 : (left.size() + 1) / 2);
      if (left.size() == 1) break;
    }
    return !left.empty() && IsFaster(*left.front()) ? left.front() : nullptr;
  }

  double Bound() const { return std::log1p(tuning_.plan.min_effect); }

  static Candidates PointersTo(std::vector<Candidate>& all) {
    return VectorOf<Candidate*>(all, [](Candidate& candidate) { return &candidate; });
  }

  // Splits `left` into groups that fit into one block and calls `action` for each group.
  template <class Action>
  void ForSome(const Candidates& left, const Action& action) const {
    const auto& plan = tuning_.plan;
    const std::size_t available =
        plan.OnGpu() ? left.size() : std::max<std::size_t>(2, plan.together) - 1;
    for (std::size_t begin = 0; begin < left.size(); begin += available)
      action(Candidates(
          left.begin() + static_cast<std::ptrdiff_t>(begin),
          left.begin() + static_cast<std::ptrdiff_t>(std::min(left.size(), begin + available))));
  }

  // Measures at most `blocks` blocks per group of candidates, until each candidate has `blocks`
  // ratios: with `in_all` including its earlier ratios, else only new ones.
  void Measure(const Candidates& left, int blocks, bool in_all) {
    ForSome(left, [&](Candidates some) {
      std::map<const Candidate*, std::size_t> wanted;
      for (const auto* candidate : some)
        wanted[candidate] =
            static_cast<std::size_t>(blocks) + (in_all ? 0 : candidate->log_ratios.size());
      for (int block = 0; block < blocks; ++block) {
        std::erase_if(some, [&](const Candidate* candidate) {
          return candidate->failure || candidate->log_ratios.size() >= wanted.at(candidate);
        });
        if (some.empty()) return;
        MeasureOnce(some);
      }
    });
  }

  // Measures one block of the best setting and `some`.
  void MeasureOnce(const Candidates& some) {
    // Without a step there is nothing to confirm: the search may take the whole budget.
    const double share = tuning_.steps.empty() ? 1 : kSearchShare;
    if (trials_.seconds() >= share * tuning_.plan.budget_seconds) throw SearchOver{};
    std::vector<Setting> settings = {tuning_.best};
    Candidates measured;
    for (auto* candidate : some)
      if (!candidate->failure) {
        settings.push_back(candidate->setting);
        measured.push_back(candidate);
      }
    const auto& block = trials_.Measure(stage_, settings);
    // Only a failure of the default, the first setting of the first block, ends the tuning.
    const auto& first = tuning_.blocks.front().results.front();
    if (first.failure) throw TuningFailed{first.failure->text, first.unsupported};
    for (std::size_t i = 0; i < measured.size(); ++i) {
      if (!measured[i]->failure) measured[i]->failure = block.results[i + 1].failure;
      if (const auto ratio = LogRatio(block, i + 1)) measured[i]->log_ratios.push_back(*ratio);
    }
  }

  // Removes candidates that failed or were slower in every block; sorts the others, fastest first.
  void Drop(Candidates& left) const {
    std::erase_if(left, [&](const Candidate* candidate) {
      return !candidate->Known() || std::ranges::min(candidate->log_ratios) > Bound();
    });
    std::ranges::stable_sort(left, {},
                             [](const Candidate* candidate) { return candidate->Center(); });
  }

  bool IsFaster(Candidate& last) {
    if (tuning_.plan.OnGpu()) return last.Center() < -Bound();
    for (const int validation : kValidations) {
      for (const int look : {kFutile, validation}) {
        const auto missing = look - static_cast<int>(last.log_ratios.size());
        if (missing > 0) Measure({&last}, missing, false);
        if (!last.Known() || last.Center() > -Bound() / 2) return false;
      }
      const auto shift = statistics::MeasurePairedShift(last.log_ratios, kValidationLevel);
      if (shift && shift->ci95.second < 0 && shift->log_ratio < -Bound()) return true;
    }
    return false;
  }

  TrialSequence& trials_;
  Tuning& tuning_;
  std::string stage_;                             // name of the coordinate that is measured
  std::vector<std::vector<Candidate>> surveyed_;  // by coordinate; measured against the default
  std::vector<std::size_t> order_;                // indices of coordinates, in search order
  int changes_ = 0;                               // [1] number of changes of the best setting
};

}  // namespace

void Search(TrialSequence& trials, Tuning& tuning) {
  try {
    Descent(trials, tuning).Run();
  } catch (const SearchOver&) {
    tuning.budget_spent = true;
    trials.Say("the budget of the search is spent");
  }
}

}  // namespace dlroof::settings
