// The order in which coordinates are tried, from the ledger of the default. Pure.
#pragma once

#include <vector>

#include "baselines/tune/setting.h"
#include "reporters/ledger/ledger.h"

namespace dlroof {

// Sorts the coordinates by the share of the default's time that they can act on, and says why:
// threads by what fork, join, waiting, sharing and serial parts take, the others by the threads'
// busy time above the roof. Layout, huge pages and allocator come before the others where
// `memory_bound`, else after them.
void SortByLedger(const Ledger& ledger, bool memory_bound, std::vector<Coordinate>& coordinates);

}  // namespace dlroof
