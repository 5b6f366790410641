// A ledger as bars, from the roof down to the measured time.
#pragma once

#include <iosfwd>
#include <string>

#include "reporters/ledger/ledger.h"

namespace dlroof::breakdown {

// Returns 40 columns with a bar between two shares of the whole, at least one column wide.
std::string WaterfallBar(double begin, double end);

// Writes a line per part: its share as a bar that begins where the one before ended, its time, what
// it is and how it is known; then the efficiencies.
void WriteWaterfall(const Ledger& ledger, std::ostream& out);

}  // namespace dlroof::breakdown
