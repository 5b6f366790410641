// Numbers and units as other tools write them, in any locale. All importers read them with these
// functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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
// three digits; "1,234,567" has groups, since there is one decimal mark; "53,312" has a group if it
// is a count, since a count has no fraction. One such number decides for the whole file.
class NumberConvention {
 public:
  // `documented` is set for a tool that writes the same decimal mark in every locale. Without other
  // evidence it applies to numbers that have only this mark.
  explicit NumberConvention(std::optional<DecimalMark> documented = {}) : documented_(documented) {}

  // `count` is true for numbers of things (launches). Ignores texts that are not numbers.
  void Add(std::string_view text, int line, bool count = false);

  // Throws BadInput ("WHERE:LINE: ...") if the numbers contradict each other, or if a number can be
  // read in two ways (the message has both). A single number that contradicts at least three others
  // does not count.
  DecimalMark Decide(const std::string& where) const;

 private:
  struct Example {
    std::string text;
    int line = 0;
    int count = 1;  // [1] numbers of this kind
  };
  // The first number that can only be read with this mark, and the first numbers that can be read
  // in two ways.
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

// A unit is `of`, or `of` per `per`. A value times `factor` is in base units: s, byte, 1.
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

}  // namespace dlroof::text
