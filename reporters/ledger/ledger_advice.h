// A sentence on a ledger's largest part.
#pragma once

#include <string>

#include "reporters/ledger/ledger.h"

namespace dlroof::breakdown {

// One sentence for the largest part: its share and what it proposes; empty without a part.
std::string LedgerAdvice(const Ledger& ledger);

}  // namespace dlroof::breakdown
