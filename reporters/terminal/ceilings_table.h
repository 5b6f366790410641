// A machine's ceilings as text for a terminal, with what is known against them.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>

namespace dlroof {

// A table per machine and number of threads, most threads first: plain pipes, highest first, each
// with its finer rows under it; memory levels with the mix that made the roof; overheads. The last
// column says why a ceiling is not proved. Below it what a sweep over working sets says about the
// caches, why something was not measured, and what a look before the run saw. `width` [columns] of
// the terminal: columns are left out and reasons shortened to fit; 0 writes everything. Control
// characters of the file are not passed on.
void WriteCeilings(const nlohmann::json& run_file, int width, std::ostream& out);

}  // namespace dlroof
