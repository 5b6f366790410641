// Why a ceiling is not proved.
#pragma once

#include <string>

#include "ceilings/machine/machine.h"

namespace dlroof {

// The ceiling is not proved, for this reason too; one that it has already (of an earlier
// comparison) is not said twice.
void Doubt(Ceiling& ceiling, const std::string& reason);

}  // namespace dlroof
