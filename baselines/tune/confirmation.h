// The proof of a tuning, from fresh blocks.
#pragma once

#include "baselines/tune/trial_sequence.h"

namespace dlroof {

// Measures the default, each step and the best by turns. Sets effects, total, state, reason,
// `dropped`, and leaves in `steps` and `best` what is confirmed. Throws as Search does.
void Confirm(TrialSequence& trials, Tuning& tuning);

// Returns the effect of the second setting against the first. Absent: too few clean blocks within
// the plan's budget. Throws as Search does.
std::optional<Effect> EffectBetween(TrialSequence& trials, const TuningPlan& plan,
                                    const std::string& stage, const Setting& before,
                                    const Setting& after);

}  // namespace dlroof
