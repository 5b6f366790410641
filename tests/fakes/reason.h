// The text of an optional reason, for expectations.
#pragma once

#include <optional>
#include <string>

#include "counters/base/error.h"

namespace dlroof::fakes {

// Returns "" if there is no reason.
inline std::string TextOf(const std::optional<Reason>& reason) {
  return reason ? reason->text : "";
}

}  // namespace dlroof::fakes
