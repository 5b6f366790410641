// CSV files (RFC 4180). Each field that is read has its position in the file, for error messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporters/text/numbers.h"

namespace dlroof::text {

// Removes the first line of the text, and returns it without its line end.
std::string_view TakeLine(std::string_view& text);

struct CsvField {
  std::string text;
  int line = 0, column = 0;  // of the first character, both from 1
};

using CsvRow = std::vector<CsvField>;  // at least one field

// Returns the rows of `text` without empty lines. A quoted field may contain separators, line ends,
// and "" for a quote. Reads a field without a closing quote, and text after a closed quote, as
// plain text. Makes text that is not UTF-8 printable. Throws BadInput if it has a NUL byte.
std::vector<CsvRow> ReadCsv(std::string_view text, const std::string& where, char separator = ',');

// Returns the separator of the line that begins at `at`: comma, semicolon (spreadsheets write it if
// the comma is the decimal mark) or tab, whichever is most frequent outside of quotes.
char SeparatorAfter(std::string_view text, std::size_t at = 0);

// Returns "FILE:3: column 17", the start of every message about a field.
std::string PlaceOf(const CsvField& field, const std::string& where);

// Returns the field's number, or nullopt for an empty field. Without `mark` the number must be
// plain (PlainNumber). With it, the file's convention (NumberConvention) applies, and "-", "n/a",
// "nan" and "inf" are nullopt too. Throws BadInput if the field has other text or a negative
// number.
std::optional<double> CsvNumberFromZero(const CsvField& field, const std::string& where,
                                        std::optional<DecimalMark> mark = {});

// Returns the decimal mark of the fields below the header but those of a column "name": a point
// without evidence for a comma, since spreadsheets write files in other locales.
DecimalMark MarkOf(const std::vector<CsvRow>& rows, const std::string& where);

// Throws BadInput unless the row has as many fields as the header.
void RequireFields(const CsvRow& row, const CsvRow& header, const std::string& where);

// Returns a field to write: quoted if the text has a quote, a comma or a line break, and with a "'"
// before text that a spreadsheet would take for a formula.
std::string CsvCell(std::string_view text);
// Returns a field with all digits of the value, or an empty field for nullopt.
std::string CsvCell(const std::optional<double>& value);

}  // namespace dlroof::text
