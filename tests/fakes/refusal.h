// Message of a call that refuses its input, text of a reason.
#pragma once

#include <optional>
#include <string>

#include "counters/base/error.h"

namespace dlroof::fakes {

// The sentence of the Error that `call()` throws; "accepted" where it throws none.
template <typename Error = BadInput, typename Call>
std::string RefusalOf(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

// Returns "" if there is no reason.
inline std::string TextOf(const std::optional<Reason>& reason) {
  return reason ? reason->text : "";
}

}  // namespace dlroof::fakes
