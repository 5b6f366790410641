// The speeds of one benchmark: repetitions that other programs disturbed unnoticed are left out,
// and a benchmark that runs at two speeds (huge pages, placement, a neighbour on the same core) is
// judged at each. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace dlroof::statistics {

// One speed of a benchmark, from repetitions of one or several runs.
struct Mode {
  double log_seconds = 0;  // mean of the logarithms
  std::vector<double> logs;
};

struct Modes {
  std::vector<Mode> modes;  // one or two, the faster first; none for no values
  int left_out = 0;         // [1] values that belong to no mode
};

// Splits logarithms of times into modes. Two modes are recognised where the best split into two
// groups of at least two values leaves so little of the squared distances that one normal
// distribution does so in fewer than about 1 of 300 samples. A single value further than 4.5
// deviations (by the median absolute deviation) from its mode is left out.
Modes ModesOf(std::vector<double> logs);

// Returns two modes if the values scatter much more than within the two modes of `like`, and can be
// split at about the distance of those; otherwise ModesOf(logs).
Modes ModesLike(const Modes& like, const std::vector<double>& logs);

// Returns the two modes of each run if the values of both, taken together, are of two speeds and
// each run has values of both: neither run alone may show them, if it has one value of one speed,
// say, or much noise. `common` is the logarithm of the factor of the whole run. Returns nothing
// otherwise, for example for a benchmark that changed.
std::optional<std::pair<Modes, Modes>> ModesTogether(const std::vector<double>& base,
                                                     const std::vector<double>& contender,
                                                     double common);

// The change between two sets of modes.
struct MatchedModes {
  double log_ratio = 0;
  double base_count = 0, contender_count = 0;  // [1] values behind it
  bool by_mode = false;                        // at least one side has two modes
  bool ambiguous = false;  // the matching pairs disagree, so that the modes themselves changed
  // [1] Share of CONTENDER's values at the slower mode, less that of BASE's; 0 without two modes.
  double more_at_slower = 0;
};

// Matches each mode of `contender` with the mode of `base` that is nearest after `common` (the
// logarithm of the factor of the whole run) was taken out. `deviation` is that of one value.
MatchedModes MatchModes(const Modes& base, const Modes& contender, double common, double deviation);

}  // namespace dlroof::statistics
