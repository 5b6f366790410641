// Reports of tunings (steps from the default to the best setting, other trials, settings to copy),
// and the tuning files that a command resumes or verifies.
#pragma once

#include <functional>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

#include "baselines/tuning/tuning.h"

namespace dlroof::tune {

// Writes the report of a benchmark's tuning, with the confirmed speedups and their intervals.
// `program` is the path of dlroof_bench in the command line that the report shows.
void WriteTuning(const tuning::Tuning& tuning, const std::string& program, std::ostream& out);

// Returns the effect as text: "1.23x as fast (1.19x to 1.27x)".
std::string EffectText(const tuning::Effect& effect);

inline constexpr int kInterrupted = 130;  // exit code after an interrupt
inline constexpr int kNotConfirmed = 3;   // exit code if VerifyAll does not confirm a gain

// Reads the tuning file at `path`, or returns a new file with `about`, whose "names" are the tuned
// benchmarks or program. Throws BadInput if the file is unfinished and `resume` is false, or if
// `resume` is true and another command wrote the file.
tuning::TuningFile OpenTunings(const std::string& path, const nlohmann::json& about, bool resume);

// Measures the confirmed best setting of each tuning against the default again, and writes the
// effects into the file. `trials` returns the function that measures a subject. Returns the exit
// code: 0, kNotConfirmed, or 130 after an interrupt.
int VerifyAll(const std::string& path, tuning::TuningFile file,
              const std::function<tuning::MeasureBlock(const std::string& subject)>& trials,
              std::ostream& log, std::ostream& out);

}  // namespace dlroof::tune
