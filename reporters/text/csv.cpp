#include "reporters/text/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "counters/base/error.h"
#include "reporters/text/text.h"

namespace dlroof::text {
namespace {

// Cursor over the text that counts lines and columns [characters of UTF-8].
class CsvText {
 public:
  CsvText(std::string_view text, const std::string& where, char separator)
      : text_(text), where_(where), separator_(separator) {
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
  [[noreturn]] void Refuse(const CsvField& field, std::string_view fault) const {
    throw BadInput("{}: {}", PlaceOf(field, where_), fault);
  }

 private:
  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
  char separator_;
};

CsvField QuotedField(CsvText& at) {
  CsvField field = at.Start();
  for (at.Step();; at.Step()) {
    if (at.AtEnd()) at.Refuse(field, "the quote that begins here is not closed");
    if (at.Now() == '"') {
      at.Step();
      if (at.AtEnd() || at.Now() != '"') break;
    }
    field.text += at.Now();
  }
  if (!at.AtLineEnd() && !at.AtSeparator())
    at.Refuse(at.Start(), "expected a comma or the end of the line after a closed quote");
  return field;
}

CsvField PlainField(CsvText& at) {
  CsvField field = at.Start();
  for (; !at.AtLineEnd() && !at.AtSeparator(); at.Step()) field.text += at.Now();
  return field;
}

CsvRow ReadRow(CsvText& at) {
  CsvRow row;
  while (true) {
    row.push_back(!at.AtEnd() && at.Now() == '"' ? QuotedField(at) : PlainField(at));
    if (at.AtLineEnd()) return row;
    at.Step();  // the separator
  }
}

void CheckUtf8(std::string_view text, const std::string& where) {
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    if (!IsUtf8(line) || line.find('\0') != std::string_view::npos)
      throw BadInput("{}:{}: not UTF-8 text, expected CSV", where, number);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace

std::vector<CsvRow> ReadCsv(std::string_view text, const std::string& where, char separator) {
  CheckUtf8(text, where);
  std::vector<CsvRow> rows;
  CsvText at(text, where, separator);
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

void RequireFields(const CsvRow& row, const CsvRow& header, const std::string& where) {
  if (row.size() != header.size())
    throw BadInput("{}: expected {} fields as in the header, got {}", PlaceOf(row.back(), where),
                   header.size(), row.size());
}

}  // namespace dlroof::text
