// Writes numbers and text for reports: SI prefixes (only here are numbers scaled), rounding for
// files, and UTF-8 text and aligned columns for a terminal.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "counters/base/json_text.h"

namespace dlroof::text {

// Formats a value in base units with three significant digits and an SI prefix from p (1e-12) to E
// (1e18), e.g. (1.6e11, "FLOP/s") -> "160 GFLOP/s", (4.2e-6, "s") -> "4.20 µs", (0, "s") -> "0 s".
// Values beyond these prefixes get an exponent.
std::string WithPrefix(double value, std::string_view unit);

// Formats like fmt's "{:.3f}", but with `digits` decimals (at most 80): (1.3, 3) -> "1.300".
std::string FixedText(double value, int digits);

// Formats a value with three significant digits, e.g. 57.468 -> "57.5". Magnitudes below 1e-4 and
// from 1e6 on get an exponent.
std::string ThreeDigits(double value);

// Formats a share [1] with three digits: 0.664 -> "66.4 %", 0.00812 -> "0.812 %", 1 -> "100 %".
std::string PercentText(double share);

// Significant digits that identify every double: rounding to so many digits changes no value.
inline constexpr int kExactDigits = 17;
// Significant digits of derived values: 8, as the clock resolves 8 digits of a repetition of 30 ms.
inline constexpr int kWrittenDigits = 8;
// Significant digits in stored runs of roofs (their repetitions agree to three or four digits), of
// values derived from roofs, and of CPU times, which only show whether a repetition was noisy.
inline constexpr int kStoredDigits = 6;
// Significant digits in stored runs of the times that threads waited for a CPU.
inline constexpr int kStoredDelayDigits = 3;

// Returns the double nearest to `value` rounded to `digits` significant decimal digits. Returns
// infinity and NaN unchanged.
double Rounded(double value, int digits = kWrittenDigits);
// Returns a JSON integer if the value is whole and exact (below 2^53), else a JSON float.
nlohmann::json WholeOrReal(double value);
// Rounds all floating-point numbers of `json` in place, and converts whole numbers to integers.
void RoundAll(nlohmann::json& json, int digits = kWrittenDigits);

// Rounds a mean time per call [s]. Keeps at least `digits` significant digits, and enough decimals
// that seconds x iterations is exact to the nanosecond, the clock's resolution. Returns `seconds`
// unchanged if `iterations` is not positive.
double RoundedToClock(double seconds, double iterations, int digits = 0);

// Writes a table: the first column left-aligned, the others right-aligned. All rows must have the
// same number of cells. If the table does not fit into `width` [columns] (0: no limit), the texts
// of the first column are shortened or, if too little space is left, get lines of their own.
void WriteAligned(const std::vector<std::vector<std::string>>& rows, int width, std::ostream& out);

// Returns the width of each column [columns] of a table with at least one row.
std::vector<int> ColumnWidths(const std::vector<std::vector<std::string>>& rows);

inline constexpr int kColumnGap = 2;  // [columns] between two cells of a table

// Returns a row without a line end, in columns of these widths: the first cell left-aligned.
std::string AlignedLine(const std::vector<std::string>& row, const std::vector<int>& widths);

// Returns the terminal columns of the text: 2 for a wide character, 0 for a combining one.
int TextWidth(std::string_view utf8);

// Returns the text in at most `width` columns: "…" replaces the middle of a longer text.
std::string ShortenMiddle(const std::string& utf8, int width);

// Returns the text in at most `width` columns: "…" replaces the end of a longer text.
std::string ShortenEnd(const std::string& utf8, int width);

// Returns whether the text is valid UTF-8, without overlong forms and surrogates.
bool IsUtf8(std::string_view text);

using dlroof::Printable;

// Returns the terminal's width [columns], or 0 (no limit) if standard output is a file or a pipe.
int TerminalColumns();

// Shortens the names of one table to at most `width` columns so that different names stay
// different. In longer names "…" replaces runs of parts that all names with the same first part
// have and, if this is not enough, the middle. Returns nullopt if names would become equal.
std::optional<std::vector<std::string>> ShortenNames(const std::vector<std::string>& names,
                                                     int width);

// Replaces the reports' characters by ASCII: "µ" by "u", " ±" by "+-", "…" by "*", "×" by "x".
std::string InAscii(std::string text);

// Removes the escape sequences of coloured output (ESC [ ... LETTER).
std::string WithoutEscapes(std::string_view text);

// Returns whether the locale of the environment (LC_ALL, LC_CTYPE, LANG) is one with UTF-8.
bool LocaleHasUtf8();

// Width [columns] of kernel names in tables and legends.
inline constexpr int kKernelNameWidth = 60;

// Restores the "<" of anonymous namespaces ("<unnamed>::") that Nsight Compute loses when it
// simplifies a kernel's name: "void unnamed>::Chain<unnamed>::Fp32>(int)" ->
// "void <unnamed>::Chain<<unnamed>::Fp32>(int)".
std::string RepairedKernelName(std::string_view name);

// Returns the qualified name of a kernel without return type, template arguments and parameters:
// "void a::<unnamed>::Copy<float>(float *)" -> "a::<unnamed>::Copy".
std::string KernelFunction(std::string_view name);

// Returns a kernel's name in at most `width` columns (at least 1), without return type and
// parameters. If necessary also drops, in this order: namespaces of template arguments, the
// kernel's own namespaces, nested and then trailing template arguments ("…" replaces them), the
// middle. Keeps sizes after the name, e.g. " [128, 256]", which do not count for `width`.
std::string ShortKernelName(std::string_view name, int width = kKernelNameWidth);

// Returns the short names of `names` in the same order. Different names stay different: if several
// have the same short name, the second ends in " #2", the third in " #3" and so on.
std::vector<std::string> ShortKernelNames(const std::vector<std::string>& names,
                                          int width = kKernelNameWidth);

// Values by text, in the order in which the texts were first used.
template <class Value>
struct InOrder {
  std::vector<std::pair<std::string, Value>> all;
  std::map<std::string, std::size_t, std::less<>> index;

  Value& operator[](std::string_view text) {
    const auto [found, added] = index.emplace(text, all.size());
    return (added ? all.emplace_back(text, Value()) : all[found->second]).second;
  }
};

// Limits of unpacked text: size [byte], and size / packed size [1]. Without them a few packed MB
// could fill the memory.
inline constexpr std::size_t kMaxUnpacked = std::size_t{1} << 30, kMaxExpansion = 1000;

// Returns whether the bytes begin like a file packed by gzip (RFC 1952), xz or zstd (RFC 8878).
bool IsPacked(std::string_view bytes);

// Returns the text of packed data. Throws BadInput, whose message begins with `where`, if the data
// are cut off, damaged, or followed by other bytes, or if they expand to more than `most_bytes` or
// to more than kMaxExpansion times their size.
std::string Unpack(std::string_view packed, const std::string& where,
                   std::size_t most_bytes = kMaxUnpacked);

// Returns the text of a file's bytes in UTF-8 (WithoutByteOrder): unpacks packed bytes, and removes
// colours.
std::string PlainText(std::string bytes, const std::string& where);

// Returns the PlainText of a file, whatever its name. Throws BadInput as ReadFile and Unpack do.
std::string ReadUnpacked(const std::string& path, std::string_view expected);

// Returns `args` as one command line, with arguments quoted for a shell where necessary.
std::string CommandLine(const std::vector<std::string>& args);

}  // namespace dlroof::text
