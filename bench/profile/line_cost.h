// The cost of oneDNN's lines for the program that writes them. Linux.
#pragma once

#include <cstddef>
#include <optional>

namespace dlroof::profile {

// Returns the time that a line of `bytes` takes its writer [s], or nothing if it cannot be
// measured. A child process writes such lines as oneDNN does, formats each twice and flushes it,
// from `threads` threads, to a socket or a pipe (`pipe`) that this process reads as RunInForeground
// does. One thread uses its caches for other data before each line; several write line after line,
// and the time is that between two lines of the process: threads wait for each other. Takes about
// 100 ms. A pseudo-terminal is measured as a pipe.
std::optional<double> MeasureLineSeconds(std::size_t bytes, int threads, bool pipe);

}  // namespace dlroof::profile
