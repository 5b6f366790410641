// Readers of Google Benchmark's files (import.h). record::ParseRunFile reads the JSON; the CSV and
// the console table are converted to this JSON.
#include "reporters/record/google_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "counters/base/error.h"
#include "reporters/imports/import.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

using nlohmann::json;

// Returns the texts of the notes on work from rates, each with the number of records that have it.
std::map<std::string, int> Notes(const std::vector<record::Record>& records) {
  std::map<std::string, int> notes;
  for (const auto& record : records)
    for (const auto& note : record.counting)
      if (note.source == record::kRateSource) ++notes[note.text];
  return notes;
}

constexpr std::string_view kCsvHeader = "name,iterations,real_time,cpu_time,time_unit";

const std::regex& ConsoleLine() {
  static const std::regex line(
      R"(^([^\s{].*?) +([0-9][0-9.,e+-]*) (ns|us|ms|s) +([0-9][0-9.,e+-]*) (ns|us|ms|s) +([0-9]+)( .*)?$)");
  return line;
}

// Returns whether the name is of a row without a time: a fit of complexity, or a variation (cv).
bool HasNoTime(std::string_view name) {
  return name.ends_with("_cv") || name.ends_with("_BigO") || name.ends_with("_RMS");
}

// Parses a counter, e.g. "9.19318G/s". "Gi", or "G" of bytes_per_second, is 1024^3; else "G" is
// 1e9.
std::optional<double> CounterOf(std::string_view key, std::string_view text) {
  if (text.ends_with("/s")) text.remove_suffix(2);
  const bool binary = text.ends_with('i') || key == "bytes_per_second";
  if (text.ends_with('i')) text.remove_suffix(1);
  constexpr std::string_view kPrefixes = "munkMGTPE";
  constexpr double kDecimal[] = {1e-3, 1e-6, 1e-9, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18};
  const auto prefix = text.empty() ? text.npos : kPrefixes.find(text.back());
  const auto number =
      PrintedNumber(std::string(text.substr(0, text.size() - (prefix < 9 ? 1 : 0))));
  if (!number || prefix == text.npos) return number;
  return *number * (binary && prefix > 2 ? std::exp2(10. * static_cast<double>(prefix - 2))
                                         : kDecimal[prefix]);
}

// Returns a JSON entry without "run_type": its reader then recognises "_mean" etc. by the name.
json EntryOf(const std::string& name, double iterations, double real, double cpu,
             const std::string& unit) {
  return {{"name", name},
          {"iterations", iterations},
          {"real_time", real},
          {"cpu_time", cpu},
          {"time_unit", unit}};
}

json ErrorOf(const std::string& name, bool skipped, const std::string& message) {
  if (skipped) return {{"name", name}, {"skipped", true}, {"skip_message", message}};
  return {{"name", name}, {"error_occurred", true}, {"error_message", message}};
}

// Adds the counters of a console line: "key=value", or values that end below the end of their name
// in `header` (--benchmark_counters_tabular). `line` and `header` begin after the iterations.
void AddCounters(std::string_view line, std::string_view header, json& entry) {
  for (auto at = line.find_first_not_of(' '); at < line.size();) {
    const auto word = line.substr(at, line.find(' ', at) - at);
    const auto equal = word.find('=');
    at += word.size();
    const bool ends = at <= header.size() && (at == header.size() || header[at] == ' ');
    auto key = equal != word.npos ? word.substr(0, equal) : header.substr(0, ends ? at : 0);
    key.remove_prefix(key.rfind(' ') + 1);
    if (const auto number = CounterOf(key, word.substr(equal + 1)); number && !key.empty())
      entry[std::string(key)] = *number;
    at = line.find_first_not_of(' ', at);
  }
}

// Returns an entry per benchmark's line of the console table. Ignores the program's own lines.
json ConsoleEntries(const std::string& text, const std::string& where, LeftOut& left_out) {
  static const std::regex error(R"(^([^\s{].*?) +(SKIPPED|ERROR OCCURRED): '(.*)'$)");
  json entries = json::array();
  std::string header;
  int number = 1;
  for (std::string_view left = text; !left.empty(); ++number) {
    const std::string line(text::TakeLine(left));
    std::smatch found;
    if (line.size() > kLongestLine) continue;
    if (const auto at = line.find("Iterations"); line.find(" CPU ") < at && at != line.npos)
      header = line.substr(at + std::string_view("Iterations").size());
    if (std::regex_match(line, found, error))
      entries.push_back(ErrorOf(found[1], found[2] == "SKIPPED", found[3]));
    if (!std::regex_match(line, found, ConsoleLine()) || HasNoTime(found.str(1))) continue;
    left_out.Try([&] {
      const auto real = PrintedNumber(found[2]), cpu = PrintedNumber(found[4]);
      const auto iterations = PrintedNumber(found[6]);
      if (!real || !cpu || !iterations)
        throw BadInput("{}:{}: expected iterations and times", where, number);
      auto entry = EntryOf(found[1], *iterations, *real, *cpu, found[3]);
      AddCounters(found.str(7), header, entry);
      entries.push_back(std::move(entry));
    });
  }
  return entries;
}

// Returns where the CSV's header begins, or npos. Spreadsheets may change the separator.
std::size_t CsvIn(std::string_view text) {
  for (const char separator : {',', ';', '\t'}) {
    std::string header(kCsvHeader);
    std::ranges::replace(header, ',', separator);
    if (const auto begin = text.find(header); begin != text.npos) return begin;
  }
  return text.npos;
}

bool HasUnit(const text::CsvRow& row, std::size_t at) {
  const std::string_view units[] = {"ns", "us", "ms", "s"};
  return at < row.size() && std::ranges::count(units, row[at].text) > 0;
}

// Returns the fields up to the time unit, and joins times that decimal commas split. `grouped`: the
// commas may be marks of digit groups, too. Throws BadInput if the times are ambiguous.
text::CsvRow TimesOf(text::CsvRow row, bool grouped, const std::string& where) {
  if (!HasUnit(row, 4) && (grouped || !HasUnit(row, 6)))
    throw BadInput(
        "{}: more fields than the header: decimal commas or groups of digits separate fields, "
        "too; run the program with LC_ALL=C, or write JSON (--benchmark_out=x.json)",
        text::PlaceOf(row[0], where));
  for (std::size_t i = 2; i < 4 && !HasUnit(row, 4); ++i) {
    row[i].text += ',' + row[i + 1].text;
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  row.resize(5);
  return row;
}

// Returns the entry of a row with as many fields as the header, or nullopt for a row without times.
std::optional<json> EntryIn(const text::CsvRow& row, const text::CsvRow& header,
                            text::DecimalMark mark, const std::string& where) {
  std::map<std::string, std::string> fields;
  for (std::size_t i = 0; i < row.size(); ++i) fields.emplace(header[i].text, row[i].text);
  const auto number = [&](std::size_t at) { return text::CsvNumberFromZero(row[at], where, mark); };
  if (HasNoTime(row[0].text)) return std::nullopt;
  if (fields["error_occurred"] == "true")
    return ErrorOf(row[0].text, false, fields["error_message"]);
  const auto iterations = number(1), real = number(2), cpu = number(3);
  if (!iterations || !real || !cpu)
    throw BadInput("{}: expected iterations and times", text::PlaceOf(row[0], where));
  auto entry = EntryOf(row[0].text, *iterations, *real, *cpu, row[4].text);
  for (const auto& [name, field] : fields)
    if (const auto counter = text::NumberIn(field, mark); counter && !entry.contains(name))
      entry[name] = *counter;
  entry["label"] = fields["label"];
  return entry;
}

json CsvEntries(const std::string& text, const std::string& where, LeftOut& left_out) {
  const auto begin = CsvIn(text);
  const auto rows =
      text::ReadCsv(std::string_view(text).substr(begin), where, text::SeparatorAfter(text, begin));
  // In rows with too many fields, commas are decimal marks (not `grouped`) if an iteration count of
  // over 3 digits is in one field, which groups of digits would split, and no time has a point.
  const auto is_joined = [](const auto& row) { return HasUnit(row, 6) && row[1].text.size() > 3; };
  const auto has_point = [](const auto& row) {
    return HasUnit(row, 4) && (row[2].text + row[3].text).find('.') != std::string::npos;
  };
  const bool grouped =
      std::ranges::none_of(rows, is_joined) || std::ranges::any_of(rows, has_point);
  const auto mark = grouped ? text::MarkOf(rows, where) : text::DecimalMark::kComma;
  json entries = json::array();
  for (std::size_t i = 1; i < rows.size(); ++i)
    left_out.Try([&] {
      const bool cut = rows[i].size() > rows[0].size();
      const auto row = cut ? TimesOf(rows[i], grouped, where) : rows[i];
      text::RequireFields(cut ? rows[0] : row, rows[0], where);
      if (auto entry = EntryIn(row, rows[0], mark, where)) entries.push_back(*std::move(entry));
      if (cut)
        throw BadInput("{}: its counters, since decimal commas separate fields, too: use LC_ALL=C",
                       text::PlaceOf(row[0], where));
    });
  return entries;
}

}  // namespace

Imported ImportGoogleBenchmark(const std::string& text, const std::string& where) {
  std::ostringstream warnings;
  auto run = record::ParseRunFile(text, where, warnings);
  Imported imported;
  imported.records = std::move(run.records);
  std::istringstream lines(warnings.str());
  for (std::string line; std::getline(lines, line);) imported.remarks.push_back(line);
  for (auto& record : imported.records) record::PutOnDevice(record, "");
  for (const auto& [note, records] : Notes(imported.records))
    imported.Say("{}: {} benchmarks: {}", where, records, note);
  bool has_work = false;
  for (const auto& record : imported.records)
    for (const auto& [from, work] : record.work)
      has_work = has_work || !work.flops.empty() || !work.bytes.empty();
  if (!has_work)
    imported.Say(
        "{}: no benchmark has work: expected counters such as FLOPS, bytes_per_second or "
        "modelled/flops/fp32.vector (importing.md), or --flops-per-item",
        where);
  return imported;
}

void SetPipeOfRates(const std::string& pipe, std::vector<record::Record>& records) {
  for (auto& record : records) {
    if (Notes({record}).empty()) continue;
    for (auto& [from, work] : record.work)
      if (const auto flops = TotalFlops(work)) work.flops = {{pipe, *flops}};
    for (auto& note : record.counting)
      if (note.source == record::kRateSource && note.text.starts_with("FLOPs"))
        note.text = fmt::format("FLOPs that the benchmark's author declares, on {} (--pipe)", pipe);
  }
}

std::size_t AddFlopsOfItems(const std::string& text, const std::string& where, ItemWork item,
                            std::vector<record::Record>& records) {
  const auto items = record::ItemsIn(text, where);
  std::size_t added = 0;
  for (auto& record : records) {
    const auto found = items.find(record.name);
    if (found == items.end()) continue;
    record.work[Provenance::kModelled].flops = {{item.pipe, found->second * item.flops}};
    record.counting.push_back(
        {std::string(record::kRateSource), Provenance::kModelled,
         fmt::format("FLOPs: {} per item (items_per_second), on {}", item.flops, item.pipe)});
    ++added;
  }
  return added;
}

bool LooksLikeBenchmarkTable(std::string_view text) {
  auto first = FirstOf(text);
  if (CsvIn(first) != first.npos) return true;
  while (!first.empty())
    if (const std::string line(text::TakeLine(first));
        line.size() <= kLongestLine && std::regex_match(line, ConsoleLine()))
      return true;
  return false;
}

Imported ImportBenchmarkTable(const std::string& text, const std::string& where) {
  LeftOut left_out;
  const bool csv = CsvIn(text) != text.npos;
  auto entries = csv ? CsvEntries(text, where, left_out) : ConsoleEntries(text, where, left_out);
  if (entries.empty() && left_out.count == 0)
    throw BadInput("{}: expected a line of a benchmark with its times", where);
  // Names no version of Google Benchmark: versions divide the times of several threads differently.
  const json file = {{"context", {{"json_schema_version", 1}}}, {"benchmarks", std::move(entries)}};
  auto imported =
      file.at("benchmarks").empty() ? Imported{} : ImportGoogleBenchmark(file.dump(), where);
  left_out.AddTo(imported, csv ? "rows or their counters are" : "rows are");
  return imported;
}

}  // namespace dlroof::imports
