// Text for a terminal: what is valid, how wide it is, and columns that line up.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::text {

// Rows of equally many cells, the first column left-aligned, the others right-aligned. Where too
// little of `width` [columns] would be left of the first, it gets a line of its own; 0 is no limit.
void WriteAligned(const std::vector<std::vector<std::string>>& rows, int width, std::ostream& out);

// Returns one row without the line's end: the first cell left-aligned, the others right-aligned in
// their column's width.
std::string AlignedLine(const std::vector<std::string>& row, const std::vector<int>& widths);

// Returns the columns that the text takes in a terminal: 2 for a wide character, 0 for a combining
// one.
int TextWidth(std::string_view utf8);

// At most `width` columns, the middle replaced by "…". Never cuts a character in half.
std::string ShortenMiddle(const std::string& utf8, int width);

// Returns whether all of it is valid UTF-8: no overlong forms, no surrogates.
bool IsUtf8(std::string_view text);

// Invalid UTF-8 and control characters (a newline, an escape sequence) become "?".
std::string Printable(std::string_view text);

// Columns of the terminal on standard output; 0 when it is not one (a file, a pipe).
int TerminalColumns();

}  // namespace dlroof::text
