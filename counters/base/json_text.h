// Escapes text of other origin for JSON, which is UTF-8 (names of files and programs are any byte
// strings on Linux), and for terminals.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace dlroof {

// Returns the text with `prefix` and two hexadecimal digits for each byte that is not UTF-8:
// "Messung_\xE4" for a file name in Latin-1.
std::string EscapedUtf8(std::string_view text, std::string_view prefix = "\\x");

// Returns the text with "\\x1B" for bytes that a terminal may execute or reorder: control
// characters (C0 with newlines, C1), bidirectional controls and bytes that are not UTF-8.
// Characters in `kept` stay.
std::string Printable(std::string_view text, std::string_view kept = "");

// Returns the JSON as text, in one line or, with `indent` >= 0, indented. EscapedUtf8 escapes
// strings that are not UTF-8.
std::string JsonText(const nlohmann::json& json, int indent = -1);

}  // namespace dlroof
