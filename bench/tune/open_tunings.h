// The file of tunings that a command goes on with, or verifies.
#pragma once

#include <functional>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

#include "baselines/tune/tuning_file.h"

namespace dlroof::tune {

// Exit codes: the user asked for an end; a gain is not confirmed again.
inline constexpr int kInterrupted = 130, kCannotSay = 3;

// Returns the tunings of the file at `path`, or a fresh file of `about` (its "names" are what is
// tuned). Throws BadInput for an unfinished file without `resume`, and for one of another command
// with it.
tuning::TuningFile OpenTunings(const std::string& path, const nlohmann::json& about, bool resume);

// Measures each confirmed best of the file against its default once more, by the trials of its
// subject, and writes the effects into the file. Returns the exit code: 0, 3 if one is not
// confirmed again, 130 after an interrupt.
int VerifyAll(const std::string& path, tuning::TuningFile file,
              const std::function<tuning::MeasureBlock(const std::string& subject)>& trials,
              std::ostream& log, std::ostream& out);

}  // namespace dlroof::tune
