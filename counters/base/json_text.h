// Writes JSON whose strings may have bytes that are not UTF-8: names of files and programs are byte
// strings on Linux, but JSON is UTF-8.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace dlroof {

// Returns the text with `prefix` and two hexadecimal digits for each byte that is not UTF-8:
// "Messung_\xE4" for a file name in Latin-1.
std::string EscapedUtf8(std::string_view text, std::string_view prefix = "\\x");

// Returns the JSON as text, in one line, or indented by `indent` >= 0 blanks. Strings and keys are
// escaped by EscapedUtf8.
std::string JsonText(const nlohmann::json& json, int indent = -1);

}  // namespace dlroof
