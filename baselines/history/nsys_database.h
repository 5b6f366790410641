// Imports the SQLite export of Nsight Systems. In this module and not in reporters/imports, because
// programs that use <dlroof/benchmark.h> link that one and should not link SQLite.
#pragma once

#include <string>
#include <string_view>

#include "reporters/imports/import.h"

namespace dlroof::history {

bool LooksLikeNsysDatabase(std::string_view text);

// Returns one record per kernel, with the sum of its launches' times. Throws BadInput for a
// database without kernels and one that SQLite cannot read.
imports::Imported ImportNsysDatabase(const std::string& text, const std::string& where);

}  // namespace dlroof::history
