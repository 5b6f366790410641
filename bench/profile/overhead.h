// What profile costs a program: numbers in the program's output, runs with and without what profile
// adds, and the time of a line of oneDNN.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "bench/profile/foreground.h"

namespace dlroof::profile {

// Parses `text`, a regular expression (ECMAScript) with one group, the number. Throws BadInput,
// which names `flag`, for an invalid expression and for another number of groups.
std::regex NumberPattern(const std::string& flag, const std::string& text);

// Returns the numbers that `pattern` finds in the lines of the text, in order. Ignores groups that
// are not finite numbers, and everything beyond the first 4096 characters of a line.
std::vector<double> NumbersIn(std::string_view text, const std::regex& pattern);

struct OverheadRequest {
  int turns = 0;                    // [1] pairs of runs
  std::optional<std::string> read;  // pattern of the number to compare; absent: wall times
  std::string_view what;            // is added: "the trace"
  bool cpu_time = false;            // compare CPU times, too
  struct Run {
    ForegroundEnd end;
    std::string output;  // if `read` is set
  };
  std::function<Run(bool with)> run;
};

// Runs the program with and without what profile adds, in alternating order, so that a drift of the
// machine's speed cancels out: first without. Reports the ratio "wall time with the trace over
// without, 3 turns: 1.003 (1.001 to 1.005)": the median, least and most. Returns false if it is not
// known.
bool ReportOverhead(const OverheadRequest& request, std::ostream& messages);

// Returns the time that a line of `bytes` takes its writer [s], or nothing if it cannot be
// measured. A child process writes such lines as oneDNN does, formats each twice and flushes it, to
// a socket or a pipe that this process reads as RunInForeground does, and uses its caches for other
// data before each line. Takes about 100 ms. A pseudo-terminal is measured as a pipe.
std::optional<double> MeasureLineSeconds(std::size_t bytes, bool pipe);

}  // namespace dlroof::profile
