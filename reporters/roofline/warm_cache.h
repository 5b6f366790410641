// Which cache holds the tensors of a warm call. Pure.
#pragma once

#include <optional>
#include <string>

#include "ceilings/machine/machine.h"
#include "counters/base/work.h"
#include "reporters/record/record.h"

namespace dlroof::roofline {

// Returns the nearest cache that may hold `bytes` [byte], all tensors of the record's call, when
// the call begins: the call is warm and they fit. On a CPU the L1 and L2 of all threads count
// together, the L3 once; on a GPU only L2 counts. Every tensor then passes this cache at least
// once, and nothing is known of DRAM. Returns nullopt for calls that are not warm, and for unknown
// or small caches.
std::optional<Level> HoldingCache(const record::Record& record, const machine::Machine& machine,
                                  double bytes);

// Returns why modelled bytes stand at that cache and not at DRAM.
std::string HeldText(Level cache);

}  // namespace dlroof::roofline
