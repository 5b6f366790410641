// What writing oneDNN's verbose log costs a program.
#pragma once

#include <cstddef>
#include <optional>

namespace dlroof::profile {

// Returns the time that a line of `bytes` takes its writer [s], or nothing if it cannot be
// measured. A child process writes such lines as oneDNN does, formats each twice and flushes it, to
// a socket or a pipe that this process reads as RunInForeground does, and uses its caches for other
// data before each line. Takes about 100 ms. A pseudo-terminal is measured as a pipe.
std::optional<double> MeasureLineSeconds(std::size_t bytes, bool pipe);

}  // namespace dlroof::profile
