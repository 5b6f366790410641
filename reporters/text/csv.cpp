#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/replace.hpp>

#include "counters/base/error.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::text {
namespace {

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
