// A ledger as bars, from the roof down to the measured time.
#pragma once

#include <iosfwd>

#include "reporters/ledger/ledger.h"

namespace dlroof {

// Writes a line per part: its share as a bar that begins where the one before ended, its time, what
// it is and how it is known; then the efficiencies.
void WriteWaterfall(const Ledger& ledger, std::ostream& out);

}  // namespace dlroof
