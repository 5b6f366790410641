// The facts of a record's ledger from its placement.
#pragma once

#include <optional>

#include "reporters/ledger/ledger.h"
#include "reporters/roofline/roofline.h"

namespace dlroof {

// Returns the ledger of a call that was watched and has roofs; `placement` is of this machine and
// view.
std::optional<Ledger> LedgerOf(const Record& record, const Placement& placement,
                               const Machine& machine, const PlaceView& view);

}  // namespace dlroof
