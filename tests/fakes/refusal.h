// Message of a call that refuses its input, text of a reason, parts of a text.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "counters/base/error.h"

namespace dlroof::fakes {

// The sentence of the Error that `call(arguments...)` throws; "accepted" where it throws none.
template <typename Error = BadInput, typename Call, typename... Arguments>
std::string RefusalOf(const Call& call, const Arguments&... arguments) {
  try {
    call(arguments...);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

// Returns "" if there is no reason.
inline std::string TextOf(const std::optional<Reason>& reason) {
  return reason ? reason->text : "";
}

// Expects each of the parts in the text.
inline void ExpectHas(const std::string& text, std::initializer_list<std::string_view> parts) {
  for (const auto part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

// Expects none of the parts in the text.
inline void ExpectLacks(const std::string& text, std::initializer_list<std::string_view> parts) {
  for (const auto part : parts)
    EXPECT_EQ(text.find(part), std::string::npos) << "'" << part << "' in: " << text;
}

// Expects each of the parts in the sentence of the Error that `call()` throws.
template <typename Error = BadInput, typename Call>
void ExpectRefused(const Call& call, std::initializer_list<std::string_view> parts) {
  ExpectHas(RefusalOf<Error>(call), parts);
}

// Returns the number of places where the part begins.
inline int CountOf(std::string_view part, std::string_view text) {
  int count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace dlroof::fakes
