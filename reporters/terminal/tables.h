// A run file as text for a terminal: a row per benchmark, findings, ceilings.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof {

// Rows of every record with a time (in the file's order), those without and their reasons beneath,
// then remarks, models and the ceilings. `width` [columns] of the terminal; names are shortened in
// the middle to fit, 0 leaves them whole (output to a file). Control characters of the file are not
// passed on to the terminal.
void WriteTables(const nlohmann::json& run_file, int width, std::ostream& out);

// The run file's "models": a row per model, then the layers of each that are worth a look first.
// Nothing where there is none. `width` as above.
void WriteModels(const nlohmann::json& models, int width, std::ostream& out);

// Rows of equally many cells, the first column left-aligned, the others right-aligned. Where too
// little of `width` [columns] would be left of the first, it gets a line of its own; 0 is no limit.
void WriteAligned(const std::vector<std::vector<std::string>>& rows, int width, std::ostream& out);

// Columns that the text takes in a terminal: code points, for our text has no wide ones.
int TextWidth(std::string_view utf8);

// At most `width` columns, the middle replaced by "…". Never cuts a character in half.
std::string ShortenMiddle(const std::string& utf8, int width);

// Whether all of it is valid UTF-8: no overlong forms, no surrogates.
bool IsUtf8(std::string_view text);

// Invalid UTF-8 and control characters (a newline, an escape sequence) become "?".
std::string Printable(std::string_view text);

}  // namespace dlroof
