// The search of a tuning: coordinates one by one, the choices of each by successive halving.
#pragma once

#include "baselines/tune/trial_sequence.h"

namespace dlroof {

// Sets `best`, `steps` (without effects) and `tried`. Ends early where its share of the budget is
// spent. Throws TuningInterrupted, and TuningFailed where the setting to beat has no time.
void Search(TrialSequence& trials, Tuning& tuning);

}  // namespace dlroof
