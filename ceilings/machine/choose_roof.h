// Chooses the measured row that becomes a roof.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ceilings/machine/machine.h"

namespace dlroof::machine {

// A row as sets hold it: its key and its ceiling.
using CeilingRow = std::pair<const std::string, Ceiling>;

// Returns the row with the highest rate, or a proved row within 3 % of it: measurements differ by
// that much. Null without rows.
const CeilingRow* ChooseRoof(const std::vector<const CeilingRow*>& rows);

}  // namespace dlroof::machine
