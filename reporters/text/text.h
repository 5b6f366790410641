// Base units to text with an SI prefix: the one place where a report scales a number.
//
// Numbers as files hold them: every digit that was resolved, and no noise behind it.
//
// Text for a terminal: what is valid, how wide it is, and columns that line up.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace dlroof::text {

// Three significant digits and a prefix: (1.6e11, "FLOP/s") -> "160 GFLOP/s", (4.2e-6, "s") ->
// "4.20 µs", (0, "s") -> "0 s". From p (1e-12) to E (1e18), beyond them in powers of ten.
std::string WithPrefix(double value, std::string_view unit);

// "1.300": as fmt's "{:.3f}" of the same digits, at most 80 of them.
std::string FixedText(double value, int digits);

// Three significant digits without an exponent from 1e-4 to 1e6: 57.468 -> "57.5".
std::string ThreeDigits(double value);

// Three significant digits of a share [1]: 0.664 -> "66.4 %", 0.00812 -> "0.812 %", 1 -> "100 %".
std::string PercentText(double share);

// Enough to name every double: RoundAll only writes whole numbers whole.
inline constexpr int kExactDigits = 17;
// Digits of derived values: of a repetition of 30 ms the clock resolves 8.
inline constexpr int kWrittenDigits = 8;
// Digits of a stored run's roofs, whose repetitions agree in three or four, of what is derived from
// them, and of CPU times, which say no more than whether a repetition was noisy.
inline constexpr int kStoredDigits = 6;
// Digits of the times that a stored run's threads waited for a CPU.
inline constexpr int kStoredDelayDigits = 3;

// The double that is nearest to `value` rounded to `digits` significant decimal digits; itself
// where it is not finite.
double Rounded(double value, int digits = kWrittenDigits);
// Without ".0" where it is whole and exact (below 2^53).
nlohmann::json WholeOrReal(double value);
// All numbers of `json` that have a fraction or an exponent, in place: rounded, and whole where
// they are.
void RoundAll(nlohmann::json& json, int digits = kWrittenDigits);

// [s] The mean over `iterations` calls of a clock that counts nanoseconds, in so many decimals that
// seconds x iterations still names the nanosecond, and with at least `digits` significant ones.
// Itself where `iterations` is not known (0).
double RoundedToClock(double seconds, double iterations, int digits = 0);

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
