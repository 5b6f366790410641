// Marks ceilings as not proved.
#pragma once

#include <string>

#include "ceilings/machine/machine.h"

namespace dlroof {

// Adds a reason, once however often an earlier comparison already gave it.
void Doubt(Ceiling& ceiling, const std::string& reason);
// Adds a reason that allows any error.
void DoubtUnbounded(Ceiling& ceiling, const std::string& reason);

}  // namespace dlroof
