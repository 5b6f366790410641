// Which of several measured rows a roof is taken from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ceilings/machine/machine.h"

namespace dlroof {

// A row as sets hold it: its key and its ceiling.
using CeilingRow = std::pair<const std::string, Ceiling>;

// The row with the highest rate; of those within 3 % of it, which is what measurements differ by, a
// proved one. Null when there are no rows.
const CeilingRow* ChooseRoof(const std::vector<const CeilingRow*>& rows);

}  // namespace dlroof
