// Reads numbers and units as other tools write them, in any locale.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::text {

// Returns whether the text stands for a missing value: it is empty, or e.g. "-", "n/a", "nil",
// "nan" or "inf", in upper or lower case and with any sign.
bool IsNoValue(std::string_view text);

// Returns the number if the whole text is a number in the "C" locale, e.g. "-1.5e3", from
// -kLargestNumber to kLargestNumber, without groups of digits. Otherwise returns nullopt.
std::optional<double> PlainNumber(std::string_view text);

enum class DecimalMark { kPoint, kComma };

// Returns the number if the whole text is a number with this decimal mark, otherwise nullopt. Its
// integer part may be in groups of three digits, separated by the other mark, apostrophes or
// spaces: ("1,234.5", kPoint) and ("1.234,5", kComma) are 1234.5. With groups it has no leading
// zero and no exponent.
std::optional<double> NumberIn(std::string_view text, DecimalMark mark);

// Finds the decimal mark of a file from its numbers. One number with a single reading decides for
// the whole file: "10,20" has a decimal comma, since a group has three digits; "1,234,567" has
// groups, since a number has one decimal mark; the count "53,312" has a group, being no fraction.
class NumberConvention {
 public:
  // `documented`: the decimal mark of a tool that writes the same mark in every locale. It decides
  // how to read numbers that contain only this mark, unless other numbers contradict.
  explicit NumberConvention(std::optional<DecimalMark> documented = {}) : documented_(documented) {}

  // Adds a number of the file; ignores a text that is no number. `count`: the number counts things,
  // e.g. launches.
  void Add(std::string_view text, int line, bool count = false);

  // Returns the decimal mark of the numbers. Throws BadInput ("WHERE:LINE: ...") if numbers
  // contradict each other, or if no number decides and a number can be read in two ways. Ignores a
  // single number that contradicts at least three.
  DecimalMark Decide(const std::string& where) const;

 private:
  struct Example {
    std::string text;
    int line = 0;
    int count = 1;  // [1] numbers of this kind
  };
  // The first number that is valid only with a decimal point; only with a decimal comma; with both
  // marks but different values, if it contains a point; the same, if it contains no point.
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
// unit x `factor` is the value in base units (s, byte, 1).
struct Unit {
  double factor = 1;
  Dimension of = Dimension::kNone;
  Dimension per = Dimension::kNone;
};

// Returns the unit, or nullopt for an unknown text. E.g. "Kbyte" is 1000 byte, "KiB" 1024 byte,
// "usecond" 1e-6 s, "cycle/nsecond" and "Ghz" 1e9 cycles per second, "%" 0.01, and "" 1.
std::optional<Unit> ReadUnit(std::string_view text);

// Converts UTF-8 or UTF-16 (PowerShell writes it), with or without a byte order mark, to UTF-8
// without one. Returns other bytes unchanged.
std::string WithoutByteOrder(std::string bytes);

// Removes the first line from the text, and returns the line without its line end.
std::string_view TakeLine(std::string_view& text);

// Returns the text without blanks at both ends.
std::string_view Trimmed(std::string_view text);

struct CsvField {
  std::string text;
  int line = 0, column = 0;  // position of the first character, both from 1
};

using CsvRow = std::vector<CsvField>;  // at least one field

// Returns the rows of `text` without empty lines. A quoted field may contain separators, line ends,
// and "" for a quote. A field without its closing quote, and text after a closing quote, are plain
// text. Makes bytes that are not UTF-8 printable. Throws BadInput for text with a NUL byte.
std::vector<CsvRow> ReadCsv(std::string_view text, const std::string& where, char separator = ',');

// Returns the most frequent of comma, semicolon and tab, outside of quotes, in the line that begins
// at `at`. (Spreadsheets write semicolons if the comma is the decimal mark.)
char SeparatorAfter(std::string_view text, std::size_t at = 0);

// Returns the start of each message about a field, e.g. "FILE:3: column 17".
std::string PlaceOf(const CsvField& field, const std::string& where);

// Returns the field's number, or nullopt for an empty field. Without `mark` the number must be
// plain (PlainNumber). With `mark` it is read by NumberIn, and IsNoValue texts are nullopt too.
// Throws BadInput for other text and for a negative number.
std::optional<double> CsvNumberFromZero(const CsvField& field, const std::string& where,
                                        std::optional<DecimalMark> mark = {});

// Returns the decimal mark of the fields below the header, except in a column "name"; a point if no
// field tells. (Spreadsheets of some locales write a decimal comma.) Throws BadInput as
// NumberConvention::Decide does.
DecimalMark MarkOf(const std::vector<CsvRow>& rows, const std::string& where);

// Throws BadInput unless the row has as many fields as the header.
void RequireFields(const CsvRow& row, const CsvRow& header, const std::string& where);

// Returns the text as a CSV field: quoted if it has a quote, a comma or a line break, and with a
// "'" before a text that a spreadsheet would take for a formula.
std::string CsvCell(std::string_view text);
// Returns a CSV field with all digits of the value, or an empty field for nullopt.
std::string CsvCell(const std::optional<double>& value);

}  // namespace dlroof::text
