// Names of benchmarks in tables, and texts for terminals without UTF-8 or colours.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::text {

// Shortens the names of one table to at most `width` columns, so that different names remain
// different: in long names "…" replaces first runs of parts that all names with the same first part
// share, then the middle. Returns nullopt if that is not possible.
std::optional<std::vector<std::string>> ShortenNames(const std::vector<std::string>& names,
                                                     int width);

// Replaces the characters that reports add to names and numbers by ASCII of the same width: "µ" by
// "u", " ±" by "+-", "…" by "*".
std::string InAscii(std::string text);

// Removes the escape sequences of coloured output: ESC [ ... letter.
std::string WithoutEscapes(std::string_view text);

// Returns whether the environment (LC_ALL, LC_CTYPE, LANG) asks for UTF-8.
bool LocaleHasUtf8();

}  // namespace dlroof::text
