// Reader of dlroof's own CSV (import.h).
#include <fmt/format.h>

#include <map>

#include "counters/base/error.h"
#include "reporters/imports/import.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

constexpr std::string_view kFlops = "flops_", kBytes = "bytes_";
constexpr double kMaxThreads = 1e6;

// Spreadsheets write "sep=;" in the first line to tell other spreadsheets the separator.
bool IsComment(std::string_view line) { return line.starts_with('#') || line.starts_with("sep="); }

// Replaces comments by empty lines. They must be removed before the text is read as CSV because a
// comment may contain a lone quote.
std::string WithoutComments(std::string_view text) {
  std::string rows;
  for (bool quoted = false; !text.empty();) {
    const auto line = text::TakeLine(text);
    if (quoted || !IsComment(line)) {
      for (const char c : line) quoted = quoted != (c == '"');
      rows += line;
    }
    rows += '\n';
  }
  return rows;
}

struct Measurement {
  std::string name;
  std::optional<double> seconds, threads;
  Work work;
};

// Stores the field of the column in `row`. Returns false for an unknown column.
bool ReadField(std::string_view column, const text::CsvField& field, text::DecimalMark mark,
               const std::string& where, Measurement& row) {
  const auto number = [&] { return text::CsvNumberFromZero(field, where, mark); };
  if (column == "name") {
    row.name = field.text;
  } else if (column == "seconds") {
    row.seconds = number();
  } else if (column == "launches") {
    row.work.launches = number();
  } else if (column == "threads") {
    row.threads = number();
  } else if (column.starts_with(kFlops) && IsPipeKey(column.substr(kFlops.size()))) {
    if (const auto value = number())
      row.work.flops[std::string(column.substr(kFlops.size()))] = *value;
  } else if (const auto level = LevelFromKey(
                 column.starts_with(kBytes) ? column.substr(kBytes.size()) : std::string_view());
             level) {
    if (const auto value = number()) row.work.bytes[*level] = *value;
  } else {
    return false;
  }
  return true;
}

void CheckHeader(const text::CsvRow& header, const std::string& where) {
  std::map<std::string, int> seen;
  for (const text::CsvField& field : header)
    if (++seen[field.text] > 1)
      throw BadInput("{}: column '{}' is there twice", text::PlaceOf(field, where),
                     text::Printable(field.text));
  for (const char* needed : {"name", "seconds"})
    if (seen.count(needed) == 0)
      throw BadInput("{}: expected a column '{}'", text::PlaceOf(header.front(), where), needed);
}

void AddMeasurement(const Measurement& row, const text::CsvRow& at, const std::string& where,
                    std::map<std::string, std::size_t>& found, Imported& imported) {
  if (row.name.empty()) throw BadInput("{}: expected a name", text::PlaceOf(at.front(), where));
  if (!row.seconds || !IsRunTime(*row.seconds))
    throw BadInput("{}: expected a time above 0 in 'seconds' of '{}'",
                   text::PlaceOf(at.front(), where), text::Printable(row.name));
  if (row.threads && (*row.threads < 1 || *row.threads > kMaxThreads))
    throw BadInput("{}: expected a number of threads in 'threads' of '{}'",
                   text::PlaceOf(at.front(), where), text::Printable(row.name));
  const auto [known, added] = found.try_emplace(row.name, imported.records.size());
  if (added) {
    record::Record record{.name = row.name};
    if (row.threads) record.threads = static_cast<int>(*row.threads);
    record.work[Provenance::kMeasured] = row.work;
    imported.records.push_back(record);
  }
  record::Record& record = imported.records[known->second];
  if (!(record.work[Provenance::kMeasured] == row.work))
    throw BadInput("{}: this row of '{}' has other FLOPs, bytes or launches than the rows before",
                   text::PlaceOf(at.front(), where), text::Printable(row.name));
  record.repetitions.push_back({.seconds = *row.seconds, .iterations = 1});
}

// Returns the first line that is neither empty nor a comment, or "".
std::string_view HeaderOf(std::string_view text) {
  std::string_view line;
  while ((line.empty() || IsComment(line)) && !text.empty()) line = text::TakeLine(text);
  return IsComment(line) ? std::string_view() : line;
}

}  // namespace

bool LooksLikeOwnCsv(std::string_view text) {
  const auto header = HeaderOf(text);
  const char separator = text::SeparatorAfter(header);
  const auto line = fmt::format("{1}{0}{1}", header, separator);
  const auto has = [&](std::string_view name) {
    return line.find(fmt::format("{1}{0}{1}", name, separator)) != std::string::npos ||
           line.find(fmt::format("{1}\"{0}\"{1}", name, separator)) != std::string::npos;
  };
  return has("name") && has("seconds");
}

Imported ImportOwnCsv(const std::string& text, const std::string& where) {
  const auto rows =
      text::ReadCsv(WithoutComments(text), where, text::SeparatorAfter(HeaderOf(text)));
  if (rows.empty()) throw BadInput(where + ":1: expected a header with 'name' and 'seconds'");
  const text::CsvRow& header = rows.front();
  CheckHeader(header, where);
  const auto mark = text::MarkOf(rows, where);
  Imported imported;
  std::map<std::string, std::size_t> found;
  std::vector<std::string> unknown;
  LeftOut left_out;
  for (std::size_t i = 1; i < rows.size(); ++i)
    left_out.Try([&] {
      text::RequireFields(rows[i], header, where);
      Measurement row;
      for (std::size_t j = 0; j < header.size(); ++j)
        if (!ReadField(header[j].text, rows[i][j], mark, where, row) && i == 1)
          unknown.push_back(header[j].text);
      AddMeasurement(row, rows[i], where, found, imported);
    });
  left_out.AddTo(imported, "rows are");
  AddUnknownColumns(unknown, where, imported);
  AddCutLine(text, where, imported);
  if (imported.records.empty())
    throw BadInput("{}:{}: expected a row below the header", where, header.front().line);
  return imported;
}

}  // namespace dlroof::imports
