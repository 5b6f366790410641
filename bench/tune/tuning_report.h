// Reports of tunings (the steps from default to best, other trials, the settings to copy), and the
// files of tunings that a command resumes or verifies.
#pragma once

#include <functional>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

#include "baselines/tuning/tuning.h"

namespace dlroof::tune {

// Writes the report of a benchmark's tuning, with the ratios and intervals of the confirmation.
// `program` is the path of dlroof_bench in the printed command.
void WriteTuning(const tuning::Tuning& tuning, const std::string& program, std::ostream& out);

// How a report shows the subject of a tuning.
struct TuningWords {
  // Returns an objective (TrialResult's seconds) as text.
  std::function<std::string(double seconds)> objective;
  // Writes the settings of a confirmed tuning, to copy.
  std::function<void(const tuning::Tuning& tuning, std::ostream& out)> settings;
};
// Writes the report of any program's tuning.
void WriteTuning(const tuning::Tuning& tuning, const TuningWords& words, std::ostream& out);

// "1.23x as fast (1.19x to 1.27x)".
std::string EffectText(const tuning::Effect& effect);

inline constexpr int kInterrupted = 130;  // exit code after an interrupt
inline constexpr int kNotConfirmed = 3;   // exit code if a gain is not confirmed again

// Returns the tunings of the file at `path`, or a new file with `about`, whose "names" are what is
// tuned. Throws BadInput for an unfinished file without `resume`, and with `resume` for a file of
// another command.
tuning::TuningFile OpenTunings(const std::string& path, const nlohmann::json& about, bool resume);

// Measures the confirmed best setting of each tuning of the file against its default again, with
// the trials of its subject, and writes the effects into the file. Returns the exit code: 0, 3 if a
// gain is not confirmed again, 130 after an interrupt.
int VerifyAll(const std::string& path, tuning::TuningFile file,
              const std::function<tuning::MeasureBlock(const std::string& subject)>& trials,
              std::ostream& log, std::ostream& out);

}  // namespace dlroof::tune
