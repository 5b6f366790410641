// Another pass for unproved rows that a roof rests on.
#pragma once

#include <string>

#include "ceilings/cpu/measure_session.h"

namespace dlroof {

// Runs one more pass of each row that decides a roof and did not prove itself, as long as the
// effort has time. Needs the ceilings. Returns true where a row ran: then finish the ceilings
// again.
bool MeasureUnprovedAgain(MeasureSession& session);
// Returns true for a row that another pass could prove.
bool DecidesAnUnprovedRoof(const CeilingSet& set, const std::string& row);
// Returns the roof that has the rate of this row of CeilingSet::flops or ::mixes; null: none.
Ceiling* RoofOf(CeilingSet& set, const std::string& row);
const Ceiling* RoofOf(const CeilingSet& set, const std::string& row);

}  // namespace dlroof
