// Escapes text for JSON, which must be UTF-8, and for terminals. On Linux, names of files and
// programs may contain any bytes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace dlroof {

// Returns the text with `prefix` and two hexadecimal digits for each byte that is not UTF-8:
// "Messung_\xE4" for a file name in Latin-1.
std::string EscapedUtf8(std::string_view text, std::string_view prefix = "\\x");

// Returns the text with escapes such as "\x1B" in place of each byte of control characters (C0 with
// newlines, C1), of bidirectional controls, and of sequences that are not UTF-8: a terminal may
// execute them or reorder the text. Does not escape characters in `kept`.
std::string Printable(std::string_view text, std::string_view kept = "");

// Returns the JSON as text, in one line or, with `indent` >= 0, indented. EscapedUtf8 escapes
// strings that are not UTF-8.
std::string JsonText(const nlohmann::json& json, int indent = -1);

}  // namespace dlroof
