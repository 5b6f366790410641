// The order in which coordinates are tried, from the ledger of the default. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "baselines/tune/setting.h"
#include "reporters/ledger/ledger.h"
#include "reporters/program/program_ledger.h"

namespace dlroof::tune {

// Sorts the coordinates by the share of the default's time that they can act on, and says why:
// threads by what fork, join, waiting, sharing and serial parts take, the others by the threads'
// busy time above the roof. Layout, huge pages and allocator come before the others where
// `memory_bound`, else after them.
void SortByLedger(const breakdown::Ledger& ledger, bool memory_bound, std::vector<tuning::Coordinate>& coordinates);

// A coordinate's name -> the parts of a program's time that it acts on.
using ActsOn = std::map<std::string, std::set<programs::ProgramPartKind>>;

// Sorts the coordinates by the share of the program's time that they act on, and says so in their
// reasons. One that is not in `acts_on` acts on all of it. Among equals the order stays.
void SortByProgram(const programs::ProgramLedger& ledger, const ActsOn& acts_on,
                   std::vector<tuning::Coordinate>& coordinates);

}  // namespace dlroof::tune
