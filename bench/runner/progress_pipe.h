// Sends the progress of dlroof_bench through a pipe to the program that started it, a line of JSON
// for each step, so that the other program decides how to show it.
#pragma once

#include <optional>
#include <string>

#include "ceilings/machine/rate.h"

namespace dlroof::runner {

// Returns the line for `progress`, with its newline.
std::string ProgressLine(const machine::MeasureProgress& progress);
// Returns the progress in a line (without newline), or nothing if it has another form.
std::optional<machine::MeasureProgress> ParseProgressLine(const std::string& line);

// Writes the line to the descriptor `pipe`. Once the other program has ended, SIGPIPE ends this one
// too, unless it is ignored; other failures have no effect.
void WriteProgress(int pipe, const machine::MeasureProgress& progress);

}  // namespace dlroof::runner
