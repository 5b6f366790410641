// Nsight Systems' SQLite export as records. Here, as programs of <dlroof/benchmark.h>, which
// contain reporters/imports, link no SQLite.
#pragma once

#include <string>
#include <string_view>

#include "reporters/imports/import.h"

namespace dlroof::history {

bool LooksLikeNsysDatabase(std::string_view text);

// Returns a record per kernel, with the sum of its launches. Throws BadInput for a database without
// kernels, or that SQLite cannot read.
imports::Imported ImportNsysDatabase(const std::string& text, const std::string& where);

}  // namespace dlroof::history
