// Events: changes of level in several series at the same time, probably caused by one commit. The
// site lists events instead of the hundred benchmarks affected by each. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "baselines/statistics/series_profile.h"

namespace dlroof::history {

// A change of level in one series. Runs are indices in order of time.
struct LevelChange {
  std::size_t series = 0;
  std::size_t run = 0;                   // the new level's first run
  std::size_t earliest = 0, latest = 0;  // range of `run` that the noise allows (inclusive)
  double log_ratio = 0;                  // [1] log(new level / old level); positive: slower
  double error = 0;                      // [1] standard error of log_ratio
  std::size_t runs = 0;                  // [1] number of runs at the new level
  // False if the series later returned to the old level, or if this change is such a return.
  bool lasts = false;
};

// How certain an event is. About one in 100 unchanged series shows a change by chance, so among
// How certain an event is. About one in 100 unchanged series shows a change by chance, so some
// small changes of single series are expected (kMayBeChance). kUnconfirmed: only the last run shows
// it. kProgramOrMachine: nearly all series changed together by a few percent.
enum class Sureness { kCertain, kLikely, kUnconfirmed, kMayBeChance, kProgramOrMachine };
std::string_view Key(Sureness sureness);

struct Event {
  std::size_t run = 0;                   // the new level's first run
  std::size_t earliest = 0, latest = 0;  // range of `run` possible for all series
  double ratio = 1;                      // [1] new / old level, median over the series
  double low = 1, high = 1;  // [1] one series: 95 % interval of the ratio; several: range of ratios
  Sureness sureness = Sureness::kMayBeChance;
  std::vector<std::size_t> series;  // indices, the largest change first
};

// Returns the changes of level of one series. run_of[i] is the run of the series' value i.
std::vector<LevelChange> ChangesOf(std::size_t series, const statistics::SeriesProfile& profile,
                                   const std::vector<std::size_t>& run_of);

// Groups the lasting changes into events: changes in the same direction that may have happened in
// the same run. `series_in_run[i]`: number of series with a time in run i; empty if unknown.
// Returns the newest event first.
std::vector<Event> FindEvents(const std::vector<LevelChange>& changes,
                              const std::vector<std::size_t>& series_in_run = {});

// Returns a pattern for the names, compared part by part between slashes: "conv/{f16,f32}/*". For
// one name returns that name.
std::string PatternOf(const std::vector<std::string>& names);

}  // namespace dlroof::history
