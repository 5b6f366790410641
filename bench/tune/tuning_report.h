// A tuning in words: the steps from default to best, what else was tried, the settings to copy.
//
// The file of tunings that a command goes on with, or verifies.
#pragma once

#include <functional>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

#include "baselines/tuning/tuning.h"

namespace dlroof::tune {

// Writes the steps with their ratios and intervals, from fresh blocks alone. `program` is
// dlroof_bench as commands shall call it.
void WriteTuning(const tuning::Tuning& tuning, const std::string& program, std::ostream& out);

// Texts of a tuning's subject.
struct TuningWords {
  // Returns an objective (TrialResult's seconds) as text.
  std::function<std::string(double seconds)> objective;
  // Writes the settings of a confirmed tuning, to copy.
  std::function<void(const tuning::Tuning& tuning, std::ostream& out)> settings;
};
// The same of any program.
void WriteTuning(const tuning::Tuning& tuning, const TuningWords& words, std::ostream& out);

// "1.23x as fast (1.19x to 1.27x)".
std::string EffectText(const tuning::Effect& effect);

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
