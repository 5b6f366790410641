#include "reporters/text/numbers.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <span>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::text {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Removes the digits at the start of the text and returns them.
std::string_view TakeDigits(std::string_view& text) {
  const auto* end = std::find_if_not(text.begin(), text.end(), IsDigit);
  const auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

// Apostrophes and spaces (also no-break, narrow and thin ones) that locales write between groups.
constexpr std::string_view kNeutral[] = {"'",        "\xE2\x80\x99", " ",
                                         "\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x89"};

// Returns the separator of groups with which the text begins, or an empty text.
std::string_view GroupSeparator(std::string_view text, char other_mark) {
  if (text.starts_with(other_mark)) return text.substr(0, 1);
  for (const auto separator : kNeutral)
    if (text.starts_with(separator)) return separator;
  return {};
}

// Appends the digits of an integer part to `plain` and removes the integer part from the text.
// Returns whether the digits are in groups, or nullopt if a group does not have three digits.
std::optional<bool> TakeInteger(std::string_view& text, char other_mark, std::string& plain) {
  const auto first = TakeDigits(text);
  plain += first;
  const auto separator = GroupSeparator(text, other_mark);
  if (separator.empty()) return false;
  if (first.empty() || first.size() > 3 || first[0] == '0') return std::nullopt;
  while (text.starts_with(separator)) {
    text.remove_prefix(separator.size());
    const auto group = TakeDigits(text);
    if (group.size() != 3) return std::nullopt;
    plain += group;
  }
  return true;
}

bool HasFraction(double value) { return std::floor(value) != value; }

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

std::string Shown(std::string_view text) { return Printable(text.substr(0, 40)); }

}  // namespace

bool IsNoValue(std::string_view text) {
  auto word = Lower(text);
  if (word.starts_with('-') || word.starts_with('+')) word.erase(0, 1);
  constexpr std::string_view kWords[] = {"",         "-",       "n/a",     "na",      "nil",
                                         "none",     "null",    "inf",     "nan",     "infinity",
                                         "nan(ind)", "1.#inf",  "1.#ind",  "1.#qnan", "nan(snan)",
                                         "(null)",   "(!) nan", "(!) n/a", "no data"};
  return std::ranges::count(kWords, word) > 0;
}

std::optional<double> PlainNumber(std::string_view text) {
  const auto value = ParseNumber<double>(text);
  return value && std::abs(*value) <= kLargestNumber ? value : std::nullopt;
}

std::optional<double> NumberIn(std::string_view text, DecimalMark mark) {
  const char decimal = mark == DecimalMark::kPoint ? '.' : ',';
  std::string plain;
  if (text.starts_with('-')) plain = "-";
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const auto grouped = TakeInteger(text, decimal == '.' ? ',' : '.', plain);
  if (!grouped) return std::nullopt;
  if (text.starts_with(decimal)) {
    text.remove_prefix(1);
    (plain += '.') += TakeDigits(text);
  }
  if (!text.empty() && (*grouped || std::tolower(static_cast<unsigned char>(text[0])) != 'e'))
    return std::nullopt;
  return PlainNumber(plain += text);
}

void NumberConvention::Add(std::string_view text, int line, bool count) {
  auto point = NumberIn(text, DecimalMark::kPoint), comma = NumberIn(text, DecimalMark::kComma);
  if (point == comma) return;
  if (count && point && comma && HasFraction(*point) != HasFraction(*comma))
    (HasFraction(*point) ? point : comma).reset();
  const bool has_point = text.find('.') != std::string_view::npos;
  auto& example = !comma ? point_ : !point ? comma_ : has_point ? either_point_ : either_comma_;
  if (example)
    ++example->count;
  else
    example = Example{std::string(text), line};
}

DecimalMark NumberConvention::Decide(const std::string& where) const {
  constexpr int kMajority = 3;
  const bool alone = point_ && comma_ && std::min(point_->count, comma_->count) == 1 &&
                     std::max(point_->count, comma_->count) >= kMajority;
  if (point_ && comma_ && !alone)
    throw BadInput(
        "{}:{}: '{}' has a decimal comma, but '{}' in line {} has a decimal point; expected one of "
        "them in the whole file",
        where, comma_->line, Shown(comma_->text), Shown(point_->text), point_->line);
  if (point_ && (!comma_ || point_->count > comma_->count)) return DecimalMark::kPoint;
  if (comma_) return DecimalMark::kComma;
  const auto& open = documented_ == DecimalMark::kPoint   ? either_comma_
                     : documented_ == DecimalMark::kComma ? either_point_
                     : either_point_                      ? either_point_
                                                          : either_comma_;
  if (!open) return documented_.value_or(DecimalMark::kPoint);
  throw BadInput(
      "{}:{}: '{}' may be {} (decimal point) or {} (decimal comma), and no number of the file "
      "tells which: run the tool with LC_ALL=C",
      where, open->line, Shown(open->text), *NumberIn(open->text, DecimalMark::kPoint),
      *NumberIn(open->text, DecimalMark::kComma));
}

namespace {

// The words of each dimension. Seconds have the prefixes n, u and m, other units K, M, G, ...
const std::pair<Dimension, std::vector<std::string_view>> kUnitWords[] = {
    {Dimension::kSeconds, {"second", "seconds", "sec", "s"}},
    {Dimension::kBytes, {"byte", "Byte", "bytes", "Bytes", "B"}},
    {Dimension::kCycles, {"cycle", "cycles"}},
    {Dimension::kCount,
     {"inst", "sector", "wavefront", "op", "request", "warp", "thread", "block", "register", "FLOP",
      "FLOPs", "FLOPS", "flop", "item", "items"}}};
constexpr std::pair<std::string_view, double> kSmallPrefixes[] = {
    {"n", 1e-9}, {"u", 1e-6}, {"\xC2\xB5", 1e-6}, {"\xCE\xBC", 1e-6}, {"m", 1e-3}};
constexpr std::pair<std::string_view, double> kLargePrefixes[] = {
    {"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}, {"Ti", 1099511627776.0},
    {"K", 1e3},     {"k", 1e3},        {"M", 1e6},           {"G", 1e9},
    {"T", 1e12},    {"P", 1e15},       {"E", 1e18}};

// Returns the unit if `text`, which ends with `word`, is one of the prefixes followed by `word`.
std::optional<Unit> PrefixedUnit(std::span<const std::pair<std::string_view, double>> prefixes,
                                 std::string_view text, std::string_view word,
                                 Dimension dimension) {
  for (const auto& [prefix, factor] : prefixes)
    if (text.size() == prefix.size() + word.size() && text.starts_with(prefix))
      return Unit{factor, dimension};
  return std::nullopt;
}

std::optional<Unit> ReadPart(std::string_view text) {
  for (const auto& [dimension, words] : kUnitWords)
    for (const auto word : words) {
      if (text == word) return Unit{1, dimension};
      if (!text.ends_with(word)) continue;
      const auto found = dimension == Dimension::kSeconds
                             ? PrefixedUnit(kSmallPrefixes, text, word, dimension)
                             : PrefixedUnit(kLargePrefixes, text, word, dimension);
      if (found) return found;
    }
  return std::nullopt;
}

}  // namespace

std::optional<Unit> ReadUnit(std::string_view text) {
  if (text.empty()) return Unit{};
  if (text == "%") return Unit{.factor = 0.01};
  if (text.size() >= 2 && Lower(text.substr(text.size() - 2)) == "hz") {
    auto unit = text.size() == 2 ? Unit{}
                                 : PrefixedUnit(kLargePrefixes, text, text.substr(text.size() - 2),
                                                Dimension::kCycles);
    if (unit) *unit = {unit->factor, Dimension::kCycles, Dimension::kSeconds};
    return unit;
  }
  const auto slash = text.find('/');
  auto unit = ReadPart(text.substr(0, slash));
  if (!unit || slash == std::string_view::npos) return unit;
  const auto per = ReadPart(text.substr(slash + 1));
  if (!per) return std::nullopt;
  return Unit{unit->factor / per->factor, unit->of, per->of};
}

namespace {

// Converts UTF-16 to UTF-8. Replaces lone surrogates by U+FFFD, and ignores an odd byte at the end.
std::string FromUtf16(std::string_view bytes, bool little_endian) {
  const auto unit = [&](std::size_t i) {
    const auto first = static_cast<unsigned char>(bytes[2 * i + (little_endian ? 1 : 0)]);
    const auto second = static_cast<unsigned char>(bytes[2 * i + (little_endian ? 0 : 1)]);
    return static_cast<char32_t>(first << 8 | second);
  };
  std::string text;
  const std::size_t count = bytes.size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    char32_t code = unit(i);
    const bool pair = code >= 0xD800 && code < 0xDC00 && i + 1 < count && unit(i + 1) >= 0xDC00 &&
                      unit(i + 1) < 0xE000;
    if (pair)
      code = 0x10000 + ((code - 0xD800) << 10) + (unit(++i) - 0xDC00);
    else if (code >= 0xD800 && code < 0xE000)
      code = 0xFFFD;
    std::array<utf8proc_uint8_t, 4> encoded{};
    const auto bytes_of_code = utf8proc_encode_char(static_cast<int>(code), encoded.data());
    text.append(encoded.begin(), encoded.begin() + bytes_of_code);
  }
  return text;
}

}  // namespace

std::string WithoutByteOrder(std::string bytes) {
  const std::string_view all(bytes);
  if (all.starts_with("\xEF\xBB\xBF")) return bytes.erase(0, 3);
  if (all.starts_with("\xFF\xFE")) return FromUtf16(all.substr(2), true);
  if (all.starts_with("\xFE\xFF")) return FromUtf16(all.substr(2), false);
  // ASCII characters in UTF-16 have a zero byte each; UTF-8 text has no zero byte.
  const auto ascii = [&](std::size_t zero) {
    return all.size() >= 4 && all[zero] == 0 && all[zero + 2] == 0 && all[1 - zero] != 0 &&
           all[3 - zero] != 0;
  };
  if (ascii(1)) return FromUtf16(all, true);
  if (ascii(0)) return FromUtf16(all, false);
  return bytes;
}

}  // namespace dlroof::text
