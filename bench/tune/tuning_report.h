// A tuning in words: the steps from default to best, what else was tried, the settings to copy.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "baselines/tune/tuning.h"

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

}  // namespace dlroof::tune
