#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "baselines/history/history.h"
#include "baselines/statistics/judge.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "reporters/logs/verbose_log.h"

namespace dlroof::history {
namespace {

constexpr KeyRow<Sureness> kSureness[] = {{Sureness::kSure, "sure"},
                                          {Sureness::kUnconfirmed, "unconfirmed, 1 run"},
                                          {Sureness::kMayBeChance, "may be chance"},
                                          {Sureness::kProgramOrMachine, "program or machine?"}};

// One of 500 unchanged series of 50 runs changes by four standard errors in every first or second
// history. Three series that change in the same run are not chance.
constexpr double kSureErrors = 4;
constexpr std::size_t kMinGroup = 3;
// [1] Minimum share of a run's series that change, for kProgramOrMachine. A common shift just
// beyond kMinChange is found in little more than half of the series.
constexpr double kMostSeries = 0.6;

// [1] Standard deviation of log(time), assumed if it is unknown (fewer than three values).
constexpr double kUnknownNoise = 0.1;
constexpr double kNormal95 = 1.96;

// Returns the run that is in the ranges [earliest, latest] of the most changes. Narrow ranges weigh
// more, and LevelChange::run weighs 1.5 times as much as other runs of the range.
std::size_t MostLikelyRun(const std::vector<LevelChange>& changes) {
  std::map<std::size_t, double> weight;
  for (const auto& change : changes)
    for (std::size_t run = change.earliest; run <= change.latest; ++run)
      weight[run] +=
          (run == change.run ? 1.5 : 1) / static_cast<double>(change.latest - change.earliest + 1);
  return std::ranges::max_element(weight, {}, [](const auto& each) { return each.second; })->first;
}

double Errors(const LevelChange& change) {
  return std::abs(change.log_ratio) / std::max(change.error, 1e-9);
}

Sureness SurenessOf(const std::vector<LevelChange>& changes) {
  if (std::ranges::all_of(changes, [](const auto& change) { return change.runs == 1; }))
    return Sureness::kUnconfirmed;
  const double most = Errors(*std::ranges::max_element(changes, {}, Errors));
  const bool sure = most >= kSureErrors || changes.size() >= kMinGroup;
  return sure ? Sureness::kSure : Sureness::kMayBeChance;
}

Event EventOf(std::vector<LevelChange> changes, std::size_t run) {
  std::ranges::sort(changes, std::greater(),
                    [](const auto& change) { return std::abs(change.log_ratio); });
  Event event{.run = run, .earliest = 0, .latest = SIZE_MAX, .sureness = SurenessOf(changes)};
  std::vector<double> ratios;
  for (const auto& change : changes) {
    ratios.push_back(std::exp(change.log_ratio));
    event.series.push_back(change.series);
    event.earliest = std::max(event.earliest, change.earliest);
    event.latest = std::min(event.latest, change.latest);
  }
  event.ratio = Median(ratios);
  event.low = *std::ranges::min_element(ratios);
  event.high = *std::ranges::max_element(ratios);
  if (changes.size() > 1) return event;
  event.low = event.ratio * std::exp(-kNormal95 * changes.front().error);
  event.high = event.ratio * std::exp(kNormal95 * changes.front().error);
  return event;
}

}  // namespace

std::string_view Key(Sureness sureness) { return KeyIn(kSureness, sureness); }

std::vector<LevelChange> ChangesOf(std::size_t series, const SeriesProfile& profile,
                                   const std::vector<std::size_t>& run_of) {
  std::vector<LevelChange> changes;
  const double deviation = profile.deviation.value_or(kUnknownNoise);
  for (std::size_t i = 0; i + 1 < profile.levels.size() && i < profile.changes.size(); ++i) {
    const auto &before = profile.levels[i], &after = profile.levels[i + 1];
    const auto& at = profile.changes[i];
    LevelChange change{.series = series,
                       .run = run_of.at(at.at),
                       .earliest = run_of.at(at.earliest),
                       .latest = run_of.at(at.latest),
                       .runs = at.runs};
    change.log_ratio = std::log(after.median / before.median);
    const auto share = [](const auto& level) {
      return 1 / static_cast<double>(std::max<std::size_t>(level.end - level.begin, 1));
    };
    change.error = statistics::kMedianError * deviation * std::sqrt(share(before) + share(after));
    const double now = std::log(profile.levels.back().median / before.median);
    change.lasts = now * change.log_ratio > 0 && std::abs(now) > std::abs(change.log_ratio) / 2;
    // A change back to the level before the previous change is not an event of its own.
    const bool opposite = i > 0 && changes.back().log_ratio * change.log_ratio < 0;
    if (opposite && std::abs(std::log(after.median / profile.levels[i - 1].median)) <
                        std::abs(change.log_ratio) / 2)
      change.lasts = false;
    changes.push_back(change);
  }
  return changes;
}

std::vector<Event> FindEvents(const std::vector<LevelChange>& changes,
                              const std::vector<std::size_t>& series_in_run) {
  std::vector<Event> events;
  for (const bool slower : {true, false}) {
    std::vector<LevelChange> left;
    std::ranges::copy_if(changes, std::back_inserter(left), [&](const auto& change) {
      return change.lasts && (change.log_ratio > 0) == slower;
    });
    while (!left.empty()) {
      const auto run = MostLikelyRun(left);
      const auto others = std::stable_partition(left.begin(), left.end(), [&](const auto& change) {
        return change.earliest <= run && run <= change.latest;
      });
      auto& event = events.emplace_back(EventOf({left.begin(), others}, run));
      const auto count = event.series.size();
      if (count >= statistics::kMinForCommon && run < series_in_run.size() &&
          static_cast<double>(count) >= kMostSeries * static_cast<double>(series_in_run[run]) &&
          std::abs(std::log(event.ratio)) <= statistics::kMaxDrift)
        event.sureness = Sureness::kProgramOrMachine;
      left.erase(left.begin(), others);
    }
  }
  std::ranges::stable_sort(events, std::greater(), &Event::run);
  return events;
}

std::string PatternOf(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxChoices = 3;
  if (names.empty()) return "";
  std::vector<std::set<std::string_view>> choices(logs::SplitText(names.front(), '/').size());
  for (const auto& name : names) {
    const auto parts = logs::SplitText(name, '/');
    if (parts.size() != choices.size()) return "*";
    for (std::size_t i = 0; i < parts.size(); ++i) choices[i].insert(parts[i]);
  }
  std::string pattern;
  for (const auto& parts : choices) {
    if (!pattern.empty()) pattern += '/';
    pattern += parts.size() > kMaxChoices ? "*"
               : parts.size() == 1        ? std::string(*parts.begin())
                                          : fmt::format("{{{}}}", fmt::join(parts, ","));
  }
  return pattern;
}

}  // namespace dlroof::history
