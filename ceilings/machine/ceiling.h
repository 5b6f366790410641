// From measured rates to ceilings, for every device, and doubts about them. Pure.
#pragma once

#include <map>
#include <string>

#include "ceilings/machine/machine.h"
#include "ceilings/machine/rate.h"

namespace dlroof::machine {

// A rate of `work` per iteration as a ceiling, with what its proof knows from the repetitions;
// `how` gets the statistic appended.
Ceiling CeilingFrom(const Rate& rate, double work_per_iteration, int threads,
                    const std::string& how);

// Returns the mix that ChooseRoof takes, its name in `mix`. Throws std::invalid_argument when
// there is none.
using MeasuredMixes = std::map<std::string, Ceiling>;
Ceiling BestMix(const MeasuredMixes& mixes);

// Adds a reason, once however often an earlier comparison already gave it.
void Doubt(Ceiling& ceiling, const std::string& reason);
// Adds a reason that allows any error.
void DoubtUnbounded(Ceiling& ceiling, const std::string& reason);

}  // namespace dlroof::machine
