#include "reporters/text/text.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <ostream>
#include <set>

#include "counters/base/keys.h"

namespace dlroof::text {
namespace {

using Row = std::vector<std::string>;

constexpr int kMinName = 40;  // [columns] minimum width of benchmark names

constexpr std::array<std::string_view, 11> kPrefixes = {"p", "n", "µ", "m", "", "k",
                                                        "M", "G", "T", "P", "E"};
constexpr int kUnscaled = 4;  // index of the empty prefix

constexpr std::string_view kEllipsis = "…";

constexpr double kTick = 1e-9;     // [s] resolution of the system's clocks
constexpr int kMaxDecimals = 300;  // rounding to more decimals changes no double

struct Character {
  std::string_view bytes;
  utf8proc_int32_t code = 0;  // code point, or negative for a byte that is not valid UTF-8
};

// Returns the first character of a text, which must not be empty.
Character First(std::string_view text) {
  Character first;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                       static_cast<utf8proc_ssize_t>(text.size()), &first.code);
  first.bytes = text.substr(0, length > 0 ? static_cast<std::size_t>(length) : 1);
  return first;
}

std::vector<Character> Characters(std::string_view text) {
  std::vector<Character> characters;
  for (; !text.empty(); text.remove_prefix(characters.back().bytes.size()))
    characters.push_back(First(text));
  return characters;
}

int Width(const Character& character) {
  return character.code < 0 ? 1 : utf8proc_charwidth(character.code);
}

// Returns the first characters that fit into `columns`, or with reverse iterators the last ones.
template <class Iterator>
std::string Fitting(Iterator begin, Iterator end, int columns, bool backwards) {
  std::string text;
  for (; begin != end && (columns -= Width(*begin)) >= 0; ++begin)
    text.insert(backwards ? 0 : text.size(), begin->bytes);
  return text;
}

void AddSpaces(int count, std::string& line) {
  line.append(static_cast<std::size_t>(std::max(0, count)), ' ');
}

void AddNumbers(const Row& row, const std::vector<int>& widths, std::string& line) {
  for (std::size_t i = 1; i < row.size(); ++i) {
    AddSpaces(std::max(1, kColumnGap + widths[i] - TextWidth(row[i])), line);
    line += row[i];
  }
  line.resize(line.find_last_not_of(" \n") + 1);
}

// Returns the power of ten of the value rounded to three digits: 3 for 999.7, which is 1.00e3.
int Exponent(double value) {
  std::array<char, 32> text{};
  std::to_chars(text.begin(), text.end(), value, std::chars_format::scientific, 2);
  return std::atoi(std::ranges::find(text, 'e') + 1);
}

std::string Fixed(double value, int exponent) {
  return FixedText(value, std::max(0, 2 - exponent));
}

// Returns the parts of a name. A part ends with a slash or, after the first part, before a letter
// or underscore that follows a digit.
std::vector<std::string_view> NameParts(std::string_view name) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= name.size(); ++i) {
    const bool ends =
        i == name.size() || name[i - 1] == '/' ||
        (!parts.empty() && std::isdigit(static_cast<unsigned char>(name[i - 1])) != 0 &&
         (std::isalpha(static_cast<unsigned char>(name[i])) != 0 || name[i] == '_'));
    if (!ends) continue;
    parts.push_back(name.substr(begin, i - begin));
    begin = i;
  }
  return parts;
}

// In the names of `longer` replaces runs of parts by "…" if all `names` with the same first part
// have these parts and if the run has at least `min_run` columns. Keeps the first part.
std::vector<std::string> WithoutSharedParts(const std::vector<std::string>& longer,
                                            const std::vector<std::string>& names, int min_run) {
  std::map<std::string_view, std::set<std::string_view>> alike;  // names by their first part
  for (const auto& name : names)
    if (!name.empty()) alike[NameParts(name).front()].insert(name);
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> names_with;
  for (const auto& [first, group] : alike)
    for (const auto name : group) {
      const auto parts = NameParts(name);
      for (const auto part : std::set(parts.begin(), parts.end())) ++names_with[{first, part}];
    }
  std::vector<std::string> shorter;
  for (const auto& name : longer) {
    const auto parts = NameParts(name);
    const auto count = alike[parts.front()].size();
    std::string text(parts.front()), run;
    const auto end_run = [&] {
      text += TextWidth(run) < min_run ? run : std::string(kEllipsis);
      run.clear();
    };
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (count > 1 && names_with[{parts.front(), parts[i]}] == count) {
        run += parts[i];
        continue;
      }
      end_run();
      text += parts[i];
    }
    end_run();
    shorter.push_back(std::move(text));
  }
  return shorter;
}

// Shortens a text to `width` columns: `head` columns of its start, "…", and its end.
std::string CutAt(int head, int width, const std::vector<Character>& characters) {
  return Fitting(characters.begin(), characters.end(), head, false) + std::string(kEllipsis) +
         Fitting(characters.rbegin(), characters.rend(), width - 1 - head, true);
}

}  // namespace

std::string AlignedLine(const Row& row, const std::vector<int>& widths) {
  std::string line = row[0];
  AddSpaces(widths[0] - TextWidth(line), line);
  AddNumbers(row, widths, line);
  return line;
}

std::vector<int> ColumnWidths(const std::vector<Row>& rows) {
  std::vector<int> widths(rows.front().size(), 0);
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], TextWidth(row[i]));
  return widths;
}

void WriteAligned(const std::vector<Row>& rows, int width, std::ostream& out) {
  auto widths = ColumnWidths(rows);
  int numbers = 0;
  for (std::size_t i = 1; i < widths.size(); ++i) numbers += widths[i] + kColumnGap;
  const int available = width > 0 ? width - numbers : widths[0];
  if (available >= widths[0]) {  // without copies of 10^6 names
    for (const Row& row : rows) out << AlignedLine(row, widths) << '\n';
    return;
  }
  std::vector<std::string> names;
  for (const Row& row : rows) names.push_back(row[0]);
  std::optional<std::vector<std::string>> shown;
  if (available >= std::min(widths[0], kMinName)) shown = ShortenNames(names, available);
  const bool own_line = !shown;
  if (own_line) shown = ShortenNames(names, std::max(kMinName, width)).value_or(names);
  widths[0] = 0;
  for (const auto& name : *shown) widths[0] = std::max(widths[0], TextWidth(name));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    row[0] = (*shown)[i];
    if (own_line) {
      std::string line = row[0] + '\n';
      AddNumbers(row, widths, line);
      out << line << '\n';
    } else {
      out << AlignedLine(row, widths) << '\n';
    }
  }
}

int TextWidth(std::string_view utf8) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(utf8, is_ascii)) return static_cast<int>(utf8.size());
  int width = 0;
  for (const auto& character : Characters(utf8)) width += Width(character);
  return width;
}

std::string ShortenMiddle(const std::string& utf8, int width) {
  if (width < 1 || TextWidth(utf8) <= width) return utf8;
  // An odd column goes to the end, which distinguishes benchmarks more often than the start.
  return CutAt((width - 1) / 2, width, Characters(utf8));
}

std::string ShortenEnd(const std::string& utf8, int width) {
  if (width < 1 || TextWidth(utf8) <= width) return utf8;
  const auto characters = Characters(utf8);
  return Fitting(characters.begin(), characters.end(), width - 1, false).append(kEllipsis);
}

std::optional<std::vector<std::string>> ShortenNames(const std::vector<std::string>& names,
                                                     int width) {
  const auto fits = [&](const std::string& name) { return TextWidth(name) <= width; };
  std::vector<std::string> longer;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!fits(names[i])) {
      longer.push_back(names[i]);
      places.push_back(i);
    }
  if (longer.empty()) return names;
  const auto different = std::set(names.begin(), names.end()).size();
  constexpr int kLongRun = 10, kShortRun = 4;  // [columns] shorter runs are not replaced
  auto without_long_runs = WithoutSharedParts(longer, names, kLongRun);
  longer = std::ranges::all_of(without_long_runs, fits)
               ? std::move(without_long_runs)
               : WithoutSharedParts(longer, names, kShortRun);
  // Cuts longer names at the first of these positions at which all names remain different.
  for (const int head : {(width - 1) / 2, width / 3, 2 * width / 3, width / 6, 5 * width / 6}) {
    auto shown = names;
    for (std::size_t i = 0; i < places.size(); ++i)
      shown[places[i]] =
          TextWidth(longer[i]) <= width ? longer[i] : CutAt(head, width, Characters(longer[i]));
    if (std::set(shown.begin(), shown.end()).size() == different) return shown;
  }
  return std::nullopt;
}

bool IsUtf8(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(First(text).bytes.size()))
    if (First(text).code < 0) return false;
  return true;
}

std::string InAscii(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kAscii[] = {
      {" ±", "+-"}, {"±", "+"}, {"µ", "u"}, {kEllipsis, "*"}, {"×", "x"}};
  for (const auto& [from, to] : kAscii) boost::replace_all(text, from, to);
  return text;
}

std::string WithoutEscapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b') {
      plain += text[at];
    } else if (at + 1 < text.size() && text[at + 1] == '[') {
      for (at += 2; at < text.size() && text[at] >= 0x20 && text[at] < 0x40;) ++at;
    }
  }
  return plain;
}

bool LocaleHasUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    return locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos;
  }
  return false;
}

int TerminalColumns() {
  winsize size = {};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

// Uses std::to_chars because it takes a third of fmt's time, which matters for 10^6 cells.
std::string FixedText(double value, int digits) {
  std::array<char, 400> text;  // 309 digits before the point
  const auto done = std::to_chars(text.data(), text.data() + text.size(), value,
                                  std::chars_format::fixed, std::min(digits, 80));
  return {text.data(), done.ptr};
}

std::string ThreeDigits(double value) {
  if (value == 0 || !std::isfinite(value)) return fmt::format("{}", value);
  const int exponent = Exponent(value);
  if (exponent < -4 || exponent >= 6) return fmt::format("{:.2e}", value);
  return Fixed(value, exponent);
}

std::string PercentText(double share) { return ThreeDigits(100 * share) + " %"; }

std::string WithPrefix(double value, std::string_view unit) {
  if (value == 0 || !std::isfinite(value)) return fmt::format("{} {}", value, unit);
  const int exponent = Exponent(value);
  const int thousands = static_cast<int>(std::floor(exponent / 3.0));
  const int index = kUnscaled + thousands;
  if (index < 0 || index >= static_cast<int>(kPrefixes.size()))
    return fmt::format("{:.2e} {}", value, unit);
  return fmt::format("{} {}{}",
                     Fixed(value / std::pow(10.0, 3 * thousands), exponent - 3 * thousands),
                     kPrefixes[index], unit);
}

double Rounded(double value, int digits) {
  if (!std::isfinite(value)) return value;
  return ParseNumber<double>(fmt::format("{:.{}e}", value, digits - 1)).value_or(0);
}

nlohmann::json WholeOrReal(double value) {
  constexpr double kExactWholeNumbers = 9007199254740992;  // 2^53
  const bool whole = std::abs(value) < kExactWholeNumbers && value == std::floor(value);
  return whole ? nlohmann::json(static_cast<std::int64_t>(value)) : nlohmann::json(value);
}

void RoundAll(nlohmann::json& json, int digits) {
  if (json.is_number_float()) json = WholeOrReal(Rounded(json.get<double>(), digits));
  if (!json.is_structured()) return;
  for (auto& value : json) RoundAll(value, digits);
}

double RoundedToClock(double seconds, double iterations, int digits) {
  if (!std::isfinite(seconds) || seconds == 0 || !(iterations > 0)) return seconds;
  // With so many decimals rounding changes seconds x iterations by less than half a tick.
  double decimals = std::floor(-std::log10(kTick / iterations)) + 1;
  if (digits > 0)
    decimals = std::max(decimals, digits - 1 - std::floor(std::log10(std::abs(seconds))));
  if (!(decimals >= 0 && decimals < kMaxDecimals)) return seconds;
  return ParseNumber<double>(fmt::format("{:.{}f}", seconds, static_cast<int>(decimals)))
      .value_or(0);
}

std::string CommandLine(const std::vector<std::string>& args) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";
  std::string command;
  for (const auto& arg : args) {
    const bool plain = !arg.empty() && arg.find_first_not_of(kPlain) == std::string::npos;
    if (!command.empty()) command += ' ';
    command += plain ? arg : fmt::format("'{}'", boost::replace_all_copy(arg, "'", "'\\''"));
  }
  return command;
}

}  // namespace dlroof::text
