#include "reporters/text/numbers.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/predicate.hpp>
#include <boost/algorithm/string/replace.hpp>
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

std::string Shown(std::string_view text) { return Printable(text.substr(0, 40)); }

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

// Cursor over the text that counts lines and columns [characters of UTF-8].
class CsvText {
 public:
  CsvText(std::string_view text, char separator) : text_(text), separator_(separator) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
  }

  bool AtEnd() const { return at_ == text_.size(); }
  char Now() const { return text_[at_]; }
  bool AtSeparator() const { return Now() == separator_; }
  bool AtLineEnd() const { return AtEnd() || Now() == '\n' || Now() == '\r'; }
  void Step() {
    if (Now() == '\n') {
      ++line_;
      column_ = 1;
    } else if ((static_cast<unsigned char>(Now()) & 0xC0) != 0x80) {
      ++column_;
    }
    ++at_;
  }
  void SkipLineEnd() {
    while (!AtEnd() && (Now() == '\r' || Now() == '\n')) Step();
  }
  CsvField Start() const { return {"", line_, column_}; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
  char separator_;
};

CsvField PlainField(CsvText& at) {
  CsvField field = at.Start();
  for (; !at.AtLineEnd() && !at.AtSeparator(); at.Step()) field.text += at.Now();
  return field;
}

// Reads a field that begins with a quote (see ReadCsv).
CsvField QuotedField(CsvText& at) {
  const auto begin = at;
  CsvField field = at.Start();
  for (at.Step(); !at.AtEnd(); at.Step()) {
    if (at.Now() == '"') {
      at.Step();
      if (at.AtEnd() || at.Now() != '"') {
        field.text += PlainField(at).text;
        return field;
      }
    }
    field.text += at.Now();
  }
  at = begin;
  return PlainField(at);
}

CsvRow ReadRow(CsvText& at) {
  CsvRow row;
  while (true) {
    row.push_back(!at.AtEnd() && at.Now() == '"' ? QuotedField(at) : PlainField(at));
    if (at.AtLineEnd()) return row;
    at.Step();  // the separator
  }
}

}  // namespace

bool IsNoValue(std::string_view text) {
  auto word = boost::to_lower_copy(std::string(text));
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

std::optional<Unit> ReadUnit(std::string_view text) {
  if (text.empty()) return Unit{};
  if (text == "%") return Unit{.factor = 0.01};
  if (text.size() >= 2 && boost::iequals(text.substr(text.size() - 2), "hz")) {
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

std::string_view TakeLine(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  auto line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

std::vector<CsvRow> ReadCsv(std::string_view text, const std::string& where, char separator) {
  if (text.find('\0') != text.npos) throw BadInput("{}: not text, expected CSV", where);
  const auto valid = IsUtf8(text) ? std::string() : Printable(text, "\r\n\t");
  std::vector<CsvRow> rows;
  CsvText at(IsUtf8(text) ? text : std::string_view(valid), separator);
  for (at.SkipLineEnd(); !at.AtEnd(); at.SkipLineEnd()) rows.push_back(ReadRow(at));
  return rows;
}

char SeparatorAfter(std::string_view text, std::size_t at) {
  constexpr std::string_view kSeparators = ",;\t";
  std::array<int, kSeparators.size()> counts = {};
  bool quoted = false;
  for (; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '"') quoted = !quoted;
    const auto found = kSeparators.find(text[at]);
    if (!quoted && found != std::string_view::npos) ++counts[found];
  }
  return kSeparators[static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin())];
}

std::string PlaceOf(const CsvField& field, const std::string& where) {
  return fmt::format("{}:{}: column {}", where, field.line, field.column);
}

std::optional<double> CsvNumberFromZero(const CsvField& field, const std::string& where,
                                        std::optional<DecimalMark> mark) {
  if (mark ? IsNoValue(field.text) : field.text.empty()) return std::nullopt;
  const auto value = mark ? NumberIn(field.text, *mark) : PlainNumber(field.text);
  if (!value)
    throw BadInput("{}: expected a number, got '{}'", PlaceOf(field, where),
                   Printable(field.text.substr(0, 40)));
  if (*value < 0)
    throw BadInput("{}: expected at least 0, got {}", PlaceOf(field, where), field.text);
  return value;
}

DecimalMark MarkOf(const std::vector<CsvRow>& rows, const std::string& where) {
  NumberConvention convention(DecimalMark::kPoint);
  for (std::size_t i = 1; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows[i].size(); ++j)
      if (j >= rows[0].size() || rows[0][j].text != "name")
        convention.Add(rows[i][j].text, rows[i][j].line);
  return convention.Decide(where);
}

void RequireFields(const CsvRow& row, const CsvRow& header, const std::string& where) {
  if (row.size() != header.size())
    throw BadInput("{}: expected {} fields as in the header, got {}", PlaceOf(row.back(), where),
                   header.size(), row.size());
}

std::string CsvCell(std::string_view foreign) {
  auto text = Printable(foreign, "\t\r\n");
  const auto first = text.find_first_not_of(" \t\r\n");  // spreadsheets skip blanks before it
  const bool formula =
      first != text.npos && std::string_view("=+-@").find(text[first]) != text.npos;
  if (formula && text.find_first_not_of("+-.0123456789e", first) != std::string::npos)
    text.insert(0, "'");
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  return fmt::format("\"{}\"", boost::replace_all_copy(text, "\"", "\"\""));
}

std::string CsvCell(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

}  // namespace dlroof::text
