// likwid-perfctr's CSV (import.h): each table is a line "TABLE,..." followed by its rows.

#include <algorithm>
#include <map>
#include <set>

#include "counters/base/error.h"
#include "reporters/imports/import.h"
#include "reporters/text/csv.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

// Metrics of likwid's groups. FLOP rates are per hardware thread, for its own run time. One
// hardware thread per socket reports the data volumes of uncore counters, the others report 0.
constexpr std::string_view kRuntime = "Runtime (RDTSC) [s]";
constexpr std::pair<std::string_view, std::string_view> kRates[] = {
    {"DP [MFLOP/s]", "fp64.vector"},
    {"DP MFLOP/s", "fp64.vector"},
    {"SP [MFLOP/s]", "fp32.vector"},
    {"SP MFLOP/s", "fp32.vector"},
    {"HP [MFLOP/s]", "fp16.vector"}};
constexpr std::pair<std::string_view, Level> kVolumes[] = {
    {"L2 data volume [GBytes]", Level::kL2},
    {"L3 data volume [GBytes]", Level::kL3},
    {"Memory data volume [GBytes]", Level::kDram}};
// Ignored metrics: they repeat other metrics, or are neither FLOPs nor bytes.
constexpr std::string_view kIgnored[] = {"Metric", "Runtime unhalted [s]", "Clock [MHz]", "CPI"};

// One table "TABLE,Region NAME,Group 1 Metric,..." of values per hardware thread.
struct MetricTable {
  std::string name;  // of the region; may be empty
  std::string group;
  int line = 0;
  std::map<std::string, std::vector<double>> rows;
};

bool IsMetricTable(const text::CsvRow& title) {
  return std::ranges::any_of(title, [](const text::CsvField& field) {
    return field.text.starts_with("Group ") && field.text.ends_with(" Metric");
  });
}

MetricTable Begin(const text::CsvRow& title) {
  MetricTable table{.line = title[0].line};
  for (std::size_t i = 1; i < title.size(); ++i) {
    const auto& text = title[i].text;
    if (text.starts_with("Region ")) table.name = text.substr(7);
    if (text.ends_with(" Metric") && i + 1 < title.size()) table.group = title[i + 1].text;
  }
  return table;
}

void ReadMetric(const text::CsvRow& row, const std::string& where, MetricTable& table) {
  auto& values = table.rows[row[0].text];
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i].text == "-" || row[i].text == "nan") continue;
    if (const auto value = text::CsvNumber(row[i], where)) values.push_back(*value);
  }
}

const std::vector<double>* Find(const MetricTable& table, std::string_view metric) {
  const auto found = table.rows.find(std::string(metric));
  return found == table.rows.end() || found->second.empty() ? nullptr : &found->second;
}

void AddFlops(const MetricTable& table, const std::vector<double>& runtimes, Work& work) {
  for (const auto& [metric, pipe] : kRates) {
    const auto* rates = Find(table, metric);
    if (rates == nullptr || rates->size() != runtimes.size()) continue;
    double flops = 0;
    for (std::size_t i = 0; i < rates->size(); ++i) flops += (*rates)[i] * 1e6 * runtimes[i];
    work.flops[std::string(pipe)] = flops;
  }
}

void CheckCounts(const MetricTable& table, const std::string& where) {
  for (const auto& [metric, values] : table.rows)
    for (const double value : values)
      if (value < 0)
        throw BadInput("{}:{}: expected no value below 0 in '{}' of this table", where, table.line,
                       text::Printable(metric));
}

record::Record RecordOf(const MetricTable& table, const std::string& where) {
  CheckCounts(table, where);
  record::Record record{.name = table.name.empty() ? table.group : table.name};
  if (record.name.empty()) record.name = "likwid";
  const auto* runtimes = Find(table, kRuntime);
  const double longest = runtimes == nullptr ? 0 : std::ranges::max(*runtimes);
  if (!IsRunTime(longest))
    throw BadInput("{}:{}: expected a row '{}' with a time above 0 in this table", where,
                   table.line, kRuntime);
  record.repetitions.push_back({.seconds = longest, .iterations = 1});
  record.threads = static_cast<int>(runtimes->size());
  Work& work = record.work[Provenance::kMeasured];
  AddFlops(table, *runtimes, work);
  for (const auto& [metric, level] : kVolumes)
    if (const auto* volumes = Find(table, metric)) {
      double gigabytes = 0;
      for (const double volume : *volumes) gigabytes += volume;
      work.bytes[level] = gigabytes * 1e9;
    }
  return record;
}

bool IsKnown(std::string_view metric) {
  const auto is = [&](const auto& row) { return row.first == metric; };
  return metric == kRuntime || std::ranges::any_of(kRates, is) ||
         std::ranges::any_of(kVolumes, is) || std::ranges::count(kIgnored, metric) > 0;
}

// Merges the groups of a region into one record: one group may have FLOPs, another bytes.
void Merge(record::Record record, Imported& imported) {
  const auto same = std::ranges::find(imported.records, record.name, &record::Record::name);
  if (same == imported.records.end()) {
    imported.records.push_back(std::move(record));
    return;
  }
  same->repetitions.push_back(record.repetitions.at(0));
  same->work[Provenance::kMeasured].flops.merge(record.work[Provenance::kMeasured].flops);
  same->work[Provenance::kMeasured].bytes.merge(record.work[Provenance::kMeasured].bytes);
}

std::vector<MetricTable> Tables(const std::vector<text::CsvRow>& rows, const std::string& where) {
  std::vector<MetricTable> tables;
  bool inside = false;
  for (const text::CsvRow& row : rows) {
    const auto& first = row[0].text;
    if (first == "TABLE" || first == "STRUCT") {
      inside = first == "TABLE" && IsMetricTable(row);
      if (inside) tables.push_back(Begin(row));
    } else if (inside && first != "Metric") {
      ReadMetric(row, where, tables.back());
    }
  }
  return tables;
}

}  // namespace

bool LooksLikeLikwid(std::string_view text) {
  return (text.starts_with("TABLE,") || text.starts_with("STRUCT,") ||
          text.find("\nTABLE,") != std::string_view::npos) &&
         text.find("Group ") != std::string_view::npos;
}

Imported ImportLikwid(const std::string& text, const std::string& where) {
  Imported imported;
  std::set<std::string> unknown;
  const auto tables = Tables(text::ReadCsv(text, where), where);
  if (tables.empty())
    throw BadInput(where + ":1: expected a table 'TABLE,...,Group N Metric,...' of likwid-perfctr");
  for (const MetricTable& table : tables) {
    for (const auto& [metric, values] : table.rows)
      if (!IsKnown(metric)) unknown.insert(metric);
    Merge(RecordOf(table, where), imported);
  }
  AddUnknownColumns({unknown.begin(), unknown.end()}, where, imported);
  return imported;
}

}  // namespace dlroof::imports
