// Events: changes of level that happened together, which one commit probably caused. The site shows
// an event, not its hundred benchmarks. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/statistics/series_profile.h"

namespace dlroof::history {

// One series' change of level. Runs are indices in the order of time.
struct LevelChange {
  std::size_t series = 0;
  std::size_t run = 0;                   // the new level's first run
  std::size_t earliest = 0, latest = 0;  // of `run`, as far as the noise lets one see
  double log_ratio = 0;                  // [1] of the levels
  double error = 0;                      // [1] standard error of log_ratio
  std::size_t runs = 0;                  // [1] of the new level
  // The series has not returned to the level before, and this is not the return of an earlier
  // change.
  bool lasts = false;
};

// How sure an event is. Of 100 series without a change about one shows one, so that single small
// changes are expected among hundreds of benchmarks. A change that only the last run shows is
// unconfirmed. What nearly all series did together, by at most 10 %, may be the machine's doing.
enum class Sureness { kCertain, kLikely, kUnconfirmed, kMayBeChance, kProgramOrMachine };
std::string_view Key(Sureness sureness);

struct Event {
  std::size_t run = 0;                   // the new level's first run
  std::size_t earliest = 0, latest = 0;  // of `run`
  double ratio = 1;                      // [1] median of the series' ratios
  double low = 1, high = 1;  // [1] of one series: its 95 % interval; of several: their range
  Sureness sureness = Sureness::kMayBeChance;
  std::vector<std::size_t> series;  // the largest change first
};

// Returns the changes of level of one series, whose value i is of the run run_of[i].
std::vector<LevelChange> ChangesOf(std::size_t series, const statistics::SeriesProfile& profile,
                                   const std::vector<std::size_t>& run_of);

// Groups the changes that last, slower and faster ones apart: those that may have happened in the
// same run are one event. `series_in_run`: how many series have a time in each run; empty if not
// known. Returns the newest first.
std::vector<Event> FindEvents(const std::vector<LevelChange>& changes,
                              const std::vector<std::size_t>& series_in_run = {});

// Returns what the names have in common, by their parts between slashes: "conv/{f16,f32}/*". One
// name stays as it is.
std::string PatternOf(const std::vector<std::string>& names);

}  // namespace dlroof::history
