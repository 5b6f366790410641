// Writes foreign text: as JSON, where bytes may not be UTF-8 (names of files and programs are byte
// strings on Linux, but JSON is UTF-8), and to a terminal.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace dlroof {

// Returns the text with `prefix` and two hexadecimal digits for each byte that is not UTF-8:
// "Messung_\xE4" for a file name in Latin-1.
std::string EscapedUtf8(std::string_view text, std::string_view prefix = "\\x");

// Returns the text with "\\x1B" for bytes that a terminal may execute or reorder: control
// characters (C0 with newlines, C1), bidirectional controls and bytes not UTF-8. `kept` stay.
std::string Printable(std::string_view text, std::string_view kept = "");

// Returns the JSON as text, in a line or indented by `indent` >= 0. Texts are by EscapedUtf8.
std::string JsonText(const nlohmann::json& json, int indent = -1);

}  // namespace dlroof
