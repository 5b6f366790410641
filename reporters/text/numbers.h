// Numbers and units as other tools write them, in any locale. All importers use these functions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::text {

// Returns whether tools write this text for a missing value: an empty text, "-", "n/a", "nil",
// "nan", "inf" and similar words, in any case and with any sign.
bool IsNoValue(std::string_view text);

// Returns the number if the whole text is a number in the "C" locale, such as "-1.5e3", from
// -kLargestNumber to kLargestNumber, without groups of digits. Otherwise returns nullopt.
std::optional<double> PlainNumber(std::string_view text);

enum class DecimalMark { kPoint, kComma };

// Returns the number if the whole text is a number with this decimal mark. Its integer part may be
// in groups of three digits, separated by the other mark, apostrophes or spaces:
// ("1,234.5", kPoint) and ("1.234,5", kComma) are 1234.5. A leading zero or an exponent excludes
// groups.
std::optional<double> NumberIn(std::string_view text, DecimalMark mark);

// Finds the decimal mark of a file from its numbers. "10,20" has a decimal comma, since a group has
// three digits; "1,234,567" has groups, since a number has one decimal mark; "53,312" has a group
// if it is a count, since a count has no fraction. One such number decides for the whole file.
class NumberConvention {
 public:
  // `documented` is set for a tool that writes the same decimal mark in every locale. Without other
  // evidence it applies to numbers that have only this mark.
  explicit NumberConvention(std::optional<DecimalMark> documented = {}) : documented_(documented) {}

  // Adds a number of the file. `count`: it counts things (launches). Ignores other texts.
  void Add(std::string_view text, int line, bool count = false);

  // Returns the decimal mark of the numbers. Throws BadInput ("WHERE:LINE: ...") if they contradict
  // each other, or if no number decides and one can be read in two ways (the message has both). A
  // single number that contradicts three or more is ignored.
  DecimalMark Decide(const std::string& where) const;

 private:
  struct Example {
    std::string text;
    int line = 0;
    int count = 1;  // [1] numbers of this kind
  };
  // First examples of numbers that are valid with a decimal point only, with a decimal comma only,
  // and with both but with different values: those that contain a point, and the others.
  std::optional<Example> point_, comma_, either_point_, either_comma_;
  std::optional<DecimalMark> documented_;
};

enum class Dimension {
  kNone,     // a ratio, or no unit
  kCount,    // instructions, sectors, FLOPs and other things
  kCycles,   // clock cycles
  kSeconds,  // [s]
  kBytes     // [byte]
};

// A unit of dimension `of` or, unless `per` is kNone, of dimension `of` / `per`. A value in this
// unit times `factor` is in base units: s, byte, 1.
struct Unit {
  double factor = 1;
  Dimension of = Dimension::kNone;
  Dimension per = Dimension::kNone;
};

// Returns the unit: "Kbyte" is 1000 byte, "KiB" 1024 byte, "usecond" 1e-6 s, "cycle/nsecond" 1e9
// cycles per second, as "Ghz"; "MFLOP/s" 1e6 per second, "%" 0.01, "" 1. Returns nullopt for an
// unknown unit.
std::optional<Unit> ReadUnit(std::string_view text);

// Converts UTF-8, or UTF-16 with or without a byte order mark (as PowerShell writes it), to UTF-8
// without a byte order mark. Returns other bytes unchanged.
std::string WithoutByteOrder(std::string bytes);

// Removes the first line of the text, and returns it without its line end.
std::string_view TakeLine(std::string_view& text);

// Returns the text without blanks at both ends.
std::string_view Trimmed(std::string_view text);

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
// "nan" and "inf" are nullopt too. Throws BadInput for other text or a negative number.
std::optional<double> CsvNumberFromZero(const CsvField& field, const std::string& where,
                                        std::optional<DecimalMark> mark = {});

// Returns the decimal mark of the fields below the header, without those of a column "name", or a
// point if they do not tell: spreadsheets of some locales write a decimal comma. Throws BadInput as
// NumberConvention::Decide does.
DecimalMark MarkOf(const std::vector<CsvRow>& rows, const std::string& where);

// Throws BadInput unless the row has as many fields as the header.
void RequireFields(const CsvRow& row, const CsvRow& header, const std::string& where);

// Returns a field to write: quoted if the text has a quote, a comma or a line break, and with a "'"
// before text that a spreadsheet would take for a formula.
std::string CsvCell(std::string_view text);
// Returns a field with all digits of the value, or an empty field for nullopt.
std::string CsvCell(const std::optional<double>& value);

}  // namespace dlroof::text
