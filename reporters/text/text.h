// Numbers and text as reports write them: SI prefixes (numbers are scaled only here), rounding for
// files, and UTF-8 text and aligned columns for a terminal.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/base/json_text.h"

namespace dlroof::text {

// Formats a value in base units with three significant digits and an SI prefix from p (1e-12) to
// E (1e18): (1.6e11, "FLOP/s") -> "160 GFLOP/s", (4.2e-6, "s") -> "4.20 µs", (0, "s") -> "0 s".
// Values outside of that range get an exponent.
std::string WithPrefix(double value, std::string_view unit);

// Formats like fmt's "{:.3f}" with `digits` decimals, at most 80: (1.3, 3) -> "1.300".
std::string FixedText(double value, int digits);

// Formats with three significant digits: 57.468 -> "57.5". Values below 1e-4 or from 1e6 on get an
// exponent.
std::string ThreeDigits(double value);

// Formats a share [1] in three digits: 0.664 -> "66.4 %", 0.00812 -> "0.812 %", 1 -> "100 %".
std::string PercentText(double share);

// Digits that identify every double. RoundAll with these only converts whole numbers to integers.
inline constexpr int kExactDigits = 17;
// Significant digits of derived values: the clock resolves 8 digits of a repetition of 30 ms.
inline constexpr int kWrittenDigits = 8;
// Significant digits in stored runs for roofs (their repetitions agree to three or four digits),
// for values derived from roofs, and for CPU times, which only show whether a repetition was noisy.
inline constexpr int kStoredDigits = 6;
// Significant digits in stored runs for the times that threads waited for a CPU.
inline constexpr int kStoredDelayDigits = 3;

// Returns the double nearest to `value` rounded to `digits` significant decimal digits. Returns
// infinity and NaN unchanged.
double Rounded(double value, int digits = kWrittenDigits);
// Returns a JSON integer if the value is whole and exact (below 2^53), else a JSON float.
nlohmann::json WholeOrReal(double value);
// Rounds all floating-point numbers of `json` in place, and converts whole numbers to integers.
void RoundAll(nlohmann::json& json, int digits = kWrittenDigits);

// Rounds a mean time per call [s]. Keeps enough decimals that seconds x iterations is exact to the
// nanosecond, the clock's resolution, and at least `digits` significant digits. Returns `seconds`
// unchanged if `iterations` is not positive.
double RoundedToClock(double seconds, double iterations, int digits = 0);

// Writes a table: the first column left-aligned, the others right-aligned. All rows must have the
// same number of cells. If the first column does not fit into `width` [columns], its cells get
// lines of their own. A width of 0 means that lines may have any length.
void WriteAligned(const std::vector<std::vector<std::string>>& rows, int width, std::ostream& out);

inline constexpr int kColumnGap = 2;  // [columns] between two cells of a table

// Returns one row without a line end: first cell left-, others right-aligned in their widths.
std::string AlignedLine(const std::vector<std::string>& row, const std::vector<int>& widths);

// Returns the terminal columns of the text: 2 for a wide character, 0 for a combining one.
int TextWidth(std::string_view utf8);

// Shortens the text to at most `width` columns: "…" replaces its middle. Never splits a character.
std::string ShortenMiddle(const std::string& utf8, int width);

// Returns whether the text is valid UTF-8, without overlong forms and surrogates.
bool IsUtf8(std::string_view text);

using dlroof::Printable;

// Returns the terminal's width [columns], or 0 (no limit) if standard output is a file or a pipe.
int TerminalColumns();

// Shortens the names of one table to at most `width` columns, so that different names remain
// different: in long names "…" replaces first runs of parts that all names with the same first part
// share, then the middle. Returns nullopt if that is not possible.
std::optional<std::vector<std::string>> ShortenNames(const std::vector<std::string>& names,
                                                     int width);

// Replaces what reports add to names and numbers by ASCII: "µ" by "u", " ±" by "+-", "…" by "*".
std::string InAscii(std::string text);

// Removes the escape sequences of coloured output: ESC [ ... letter.
std::string WithoutEscapes(std::string_view text);

// Returns whether the environment (LC_ALL, LC_CTYPE, LANG) asks for UTF-8.
bool LocaleHasUtf8();

// Width [columns] of kernel names in tables and legends.
inline constexpr int kKernelNameWidth = 60;

// Restores the "<" that Nsight Compute's simplification of names drops before "unnamed>::", its
// spelling of an anonymous namespace: "void unnamed>::Chain<unnamed>::Fp32>(int)" ->
// "void <unnamed>::Chain<<unnamed>::Fp32>(int)".
std::string RepairedKernelName(std::string_view name);

// Returns the qualified name without return type, template arguments and parameters: "void
// a::<unnamed>::Copy<float>(float *)" -> "a::<unnamed>::Copy" (with an anonymous namespace).
std::string KernelFunction(std::string_view name);

// Returns the name in at most `width` columns (at least 1), without return type and parameters. If
// necessary, also drops, in this order, namespaces of template arguments, the kernel's own
// namespaces, nested and trailing template arguments (replaced by "…"), and last the middle. Keeps
// sizes after the name, " [128, 256]", which do not count for `width`.
std::string ShortKernelName(std::string_view name, int width = kKernelNameWidth);

// Returns the short names of `names` in the same order. Different names stay different: from the
// second one with the same short name on, it ends in " #2", " #3", ...
std::vector<std::string> ShortKernelNames(const std::vector<std::string>& names,
                                          int width = kKernelNameWidth);

// Reader of files that may be packed by gzip (RFC 1952), xz or zstd (RFC 8878).

// Limits of unpacked text: size [byte], and size / packed size [1]. Without them a few packed MB
// could fill the memory.
inline constexpr std::size_t kMaxUnpacked = std::size_t{1} << 30, kMaxExpansion = 1000;

// Returns whether the text begins with the magic bytes of a packed file.
bool IsPacked(std::string_view bytes);

// Returns the text of all members of packed data. Throws BadInput, whose message begins with
// `where`, if the data are cut off, damaged, followed by other bytes, or expand to more than
// `most_bytes` or kMaxExpansion times their size.
std::string Unpack(std::string_view packed, const std::string& where,
                   std::size_t most_bytes = kMaxUnpacked);

// Returns the text in UTF-8 without a byte order mark (WithoutByteOrder), unpacked if it is packed,
// without colours, and without the prefixes that a container's log has before each line.
std::string PlainText(std::string bytes, const std::string& where);

// Returns the plain text of a file, whatever its name. Throws BadInput like ReadFile and Unpack.
std::string ReadUnpacked(const std::string& path, std::string_view expected);

// Returns `args` as one command line, with arguments quoted for a shell where necessary.
std::string CommandLine(const std::vector<std::string>& args);

}  // namespace dlroof::text
