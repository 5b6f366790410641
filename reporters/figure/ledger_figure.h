// Ledgers as a figure: a waterfall per benchmark, from the roof's own time to the measured one.
#pragma once

#include <string>
#include <vector>

#include "reporters/roofline/placed_run.h"

namespace dlroof::figure {

// Returns a gnuplot script of the records that have a ledger, in the order of the file; text of the
// file stands in it only as GnuplotText. Throws BadInput where none has one.
std::string LedgerScript(const roofline::PlacedRun& run, const std::string& extension);

// Writes .svg, .pdf or .png. Throws BadInput as WriteFigure does.
void WriteLedgerFigure(const roofline::PlacedRun& run, const std::string& path);

}  // namespace dlroof::figure
