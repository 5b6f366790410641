// The file of tunings that a command goes on with.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "baselines/tune/tuning_file.h"

namespace dlroof {

// Exit codes: the user asked for an end; a gain is not confirmed again.
inline constexpr int kInterrupted = 130, kCannotSay = 3;

// Returns the tunings of the file at `path`, or a fresh file of `about` (its "names" are what is
// tuned). Throws BadInput for an unfinished file without `resume`, and for one of another command
// with it.
TuningFile OpenTunings(const std::string& path, const nlohmann::json& about, bool resume);

}  // namespace dlroof
